// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>  // before jpeglib.h, which needs it
#include <trasmuon/error.h>

#include <csetjmp>
#include <cstdio>
#include <vector>

#include "lab/data/images/decode.h"

#include <jpeglib.h>

#include <jerror.h>

namespace trasmuon::lab {
namespace {

/// libjpeg ends with a jump instead of a return. So what lives between setjmp and the jump has no destructor.
struct Failure {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void fail(j_common_ptr decoder) {
  auto* failure = reinterpret_cast<Failure*>(decoder->err);
  decoder->err->format_message(decoder, failure->message);
  std::longjmp(failure->jump, 1);
}

void on_message(j_common_ptr decoder, int level) {
  // Of the warnings, these two mean that part of the image is missing; libjpeg would fill it with grey.
  const int code = decoder->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) fail(decoder);
}

/// Decodes into rows of 3 (RGB) or 4 (CMYK) bytes per pixel. Returns false with failure.message set.
bool decode_rows(std::span<const std::uint8_t> file, jpeg_decompress_struct& decoder, Failure& failure,
                 std::int64_t most_pixels, std::vector<std::uint8_t>& rows) {
  decoder.err = jpeg_std_error(&failure.manager);
  failure.manager.error_exit = fail;
  failure.manager.emit_message = on_message;
  if (setjmp(failure.jump) != 0) return false;
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, file.data(), file.size());
  jpeg_read_header(&decoder, TRUE);
  if (std::int64_t{decoder.image_width} * decoder.image_height > most_pixels) {
    std::snprintf(failure.message, sizeof failure.message, "an image must have at most %lld pixels, got %u x %u",
                  static_cast<long long>(most_pixels), decoder.image_height, decoder.image_width);
    return false;
  }
  const bool cmyk = decoder.jpeg_color_space == JCS_CMYK || decoder.jpeg_color_space == JCS_YCCK;
  decoder.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&decoder);
  const std::size_t stride = std::size_t{decoder.output_width} * static_cast<std::size_t>(decoder.output_components);
  rows.resize(stride * decoder.output_height);
  while (decoder.output_scanline < decoder.output_height) {
    JSAMPROW row = rows.data() + decoder.output_scanline * stride;
    jpeg_read_scanlines(&decoder, &row, 1);
  }
  jpeg_finish_decompress(&decoder);
  return true;
}

/// Turns pixels of four inks into red, green and blue. Adobe's are inverted: 255 minus the ink.
void to_rgb(std::vector<std::uint8_t>& pixels, bool inverted) {
  std::uint8_t* out = pixels.data();
  for (std::size_t i = 0; i < pixels.size(); i += 4) {
    const int black = inverted ? pixels[i + 3] : 255 - pixels[i + 3];
    for (std::size_t k = 0; k < 3; ++k) {
      const int light = inverted ? pixels[i + k] : 255 - pixels[i + k];
      *out++ = static_cast<std::uint8_t>((light * black + 127) / 255);
    }
  }
}

}  // namespace

const bool kHasJpeg = true;

Image decode_jpeg(std::span<const std::uint8_t> file, const std::string& name, std::int64_t most_pixels) {
  jpeg_decompress_struct decoder{};
  Failure failure{};
  std::vector<std::uint8_t> rows;
  const bool decoded = decode_rows(file, decoder, failure, most_pixels, rows);
  const auto height = static_cast<int>(decoder.output_height), width = static_cast<int>(decoder.output_width);
  const bool cmyk = decoder.output_components == 4, inverted = decoder.saw_Adobe_marker != 0;
  jpeg_destroy_decompress(&decoder);
  if (!decoded) throw Error(name + ": " + failure.message);
  if (cmyk) to_rgb(rows, inverted);
  return image_of_rows(rows, height, width);
}

}  // namespace trasmuon::lab
