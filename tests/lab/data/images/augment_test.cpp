// SPDX-License-Identifier: Apache-2.0
// Against plain references: the formula for every pixel, in double, without tables, passes or fixed weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "lab/data/images/adjust.h"
#include "lab/data/images/crop.h"
#include "lab/data/images/rand_augment.h"
#include "lab/data/images/resize.h"

namespace trasmuon::lab {
namespace {

Image random_image(int channels, int height, int width, std::uint64_t seed = 1) {
  SampleRandom random(seed);
  Image image(channels, height, width);
  for (std::uint8_t& pixel : image.pixels) pixel = static_cast<std::uint8_t>(random.below(256));
  return image;
}

int pixel(const Image& image, int channel, int y, int x) {
  return image.plane(
      channel)[static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(x)];
}

/// The largest difference between the image and a formula for its pixels.
double error_of_pixels(const Image& image, const std::function<double(int channel, int y, int x)>& formula) {
  double worst = 0;
  for (int channel = 0; channel < image.channels; ++channel) {
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x)
        worst = std::max(worst, std::abs(pixel(image, channel, y, x) - formula(channel, y, x)));
    }
  }
  return worst;
}

double weight(double x, Filter filter) {
  x = std::abs(x);
  if (filter == Filter::bilinear) return x < 1 ? 1 - x : 0;
  if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
  return x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

/// One axis of a resize: the weighted mean of `count` values around the centre of output i of `outputs`.
double resampled(int count, int i, int outputs, Filter filter, const std::function<double(int)>& value) {
  const double scale = static_cast<double>(count) / outputs, stretch = std::max(1.0, scale);
  double sum = 0, weights = 0;
  for (int j = 0; j < count; ++j) {
    const double w = weight((j + 0.5 - (i + 0.5) * scale) / stretch, filter);
    sum += w * value(j);
    weights += w;
  }
  return std::clamp(sum / weights, 0.0, 255.0);
}

TEST(Resize, IsTheWeightedMeanOfTheBox) {
  const Image image = random_image(3, 13, 17);
  for (const Filter filter : {Filter::bilinear, Filter::bicubic}) {
    for (const PixelBox& box : {PixelBox{0, 0, 13, 17}, PixelBox{2, 5, 7, 9}, PixelBox{3, 4, 1, 1}}) {
      for (const auto& [height, width] : {std::pair{7, 5}, {13, 17}, {29, 31}, {1, 1}, {3, 40}}) {
        const Image out = resize(image, box, height, width, filter);
        const double error = error_of_pixels(out, [&, h = height, w = width](int channel, int y, int x) {
          return resampled(box.height, y, h, filter, [&](int row) {
            return resampled(box.width, x, w, filter,
                             [&](int column) { return pixel(image, channel, box.top + row, box.left + column); });
          });
        });
        EXPECT_LE(error, 0.502) << height << " x " << width;  // rounded to nearest
      }
    }
  }
}

TEST(Resize, KeepsWhatItMust) {
  const Image image = random_image(3, 9, 12);
  for (const Filter filter : {Filter::bilinear, Filter::bicubic}) {
    EXPECT_EQ(resize(image, {0, 0, 9, 12}, 9, 12, filter), image);
    Image grey(3, 9, 12);
    std::fill(grey.pixels.begin(), grey.pixels.end(), 77);
    const Image out = resize(grey, {1, 1, 7, 8}, 50, 3, filter);
    EXPECT_TRUE(std::all_of(out.pixels.begin(), out.pixels.end(), [](int value) { return value == 77; }));
  }
}

TEST(Resize, ScalesTheShorterSide) {
  const Image wide = resize_shorter_side(random_image(1, 20, 50), 10, Filter::bilinear);
  EXPECT_EQ(std::pair(wide.height, wide.width), std::pair(10, 25));
  const Image tall = resize_shorter_side(random_image(1, 50, 20), 10, Filter::bilinear);
  EXPECT_EQ(std::pair(tall.height, tall.width), std::pair(25, 10));
}

TEST(CentreView, IsTheMiddleOfTheResizedImage) {
  const Image image = random_image(3, 40, 64);
  const Image view = centre_view(image, 28), resized = resize_shorter_side(image, 32, Filter::bicubic);
  ASSERT_EQ(std::pair(view.height, view.width), std::pair(28, 28));
  EXPECT_EQ(error_of_pixels(view, [&](int c, int y, int x) { return pixel(resized, c, y + 2, x + 12); }), 0);
}

TEST(RandomBox, LiesInTheImageWithAreaAndAspect) {
  SampleRandom random(3);
  double areas = 0;
  for (int i = 0; i < 2000; ++i) {
    const PixelBox box = random_box(300, 400, {}, random);
    ASSERT_GE(std::min({box.top, box.left, box.height - 1, box.width - 1}), 0);
    ASSERT_LE(box.top + box.height, 300);
    ASSERT_LE(box.left + box.width, 400);
    const double area = box.height * static_cast<double>(box.width) / 120000,
                 aspect = static_cast<double>(box.width) / box.height;
    ASSERT_GE(area, 0.078);
    ASSERT_GE(aspect, 0.74);
    ASSERT_LE(aspect, 1.35);
    areas += area / 2000;
  }
  EXPECT_GT(areas, 0.4);  // 0.54 for all boxes; large ones fit less often
  EXPECT_LT(areas, 0.54);
}

TEST(RandomBox, FallsBackToTheCentre) {
  SampleRandom random(3);
  const PixelBox wide = random_box(10, 1000, {.least_area = 0.9}, random),
                 tall = random_box(1000, 10, {.least_area = 0.9}, random);
  EXPECT_EQ(std::pair(wide.width, wide.left), std::pair(13, 493));
  EXPECT_EQ(std::pair(tall.height, tall.top), std::pair(13, 493));
  const PixelBox dot = random_box(1, 1, {}, random);
  EXPECT_EQ(std::pair(dot.height, dot.width), std::pair(1, 1));
}

TEST(RandomCrop, ShiftsTheImage) {
  const Image image = random_image(3, 8, 6);
  std::vector<int> seen(25);
  for (std::uint64_t sample = 0; sample < 500; ++sample) {
    SampleRandom random(5, sample);
    const Image out = random_crop(image, 2, random);
    int shifts = 0;
    for (int down = -2; down <= 2; ++down) {
      for (int right = -2; right <= 2; ++right) {
        const bool equal = error_of_pixels(out, [&](int c, int y, int x) {
                             const int from_y = y - down, from_x = x - right;
                             const bool inside = from_y >= 0 && from_y < 8 && from_x >= 0 && from_x < 6;
                             return inside ? pixel(image, c, from_y, from_x) : 0;
                           }) == 0;
        if (equal) ++shifts, ++seen[static_cast<std::size_t>((down + 2) * 5 + right + 2)];
      }
    }
    ASSERT_EQ(shifts, 1);
  }
  EXPECT_GE(*std::min_element(seen.begin(), seen.end()), 5);  // 20 on average
  SampleRandom random(5);
  EXPECT_EQ(random_crop(image, 0, random), image);
  for (int i = 0; i < 50; ++i) random_crop(image, 20, random);  // out of sight
}

TEST(Flip, Mirrors) {
  for (const int width : {1, 4, 5}) {
    const Image image = random_image(3, 3, width);
    Image out = image;
    flip(out);
    EXPECT_EQ(error_of_pixels(out, [&](int c, int y, int x) { return pixel(image, c, y, width - 1 - x); }), 0);
    flip(out);
    EXPECT_EQ(out, image);
  }
}

double grey(const Image& image, int y, int x) {
  if (image.channels == 1) return pixel(image, 0, y, x);
  return std::floor(0.299 * pixel(image, 0, y, x) + 0.587 * pixel(image, 1, y, x) + 0.114 * pixel(image, 2, y, x) +
                    0.5);
}

double blend(double degenerate, double value, double factor) {
  return std::clamp(degenerate + factor * (value - degenerate), 0.0, 255.0);
}

TEST(Adjust, BlendsWithWhatTheNameLacks) {
  const Image image = random_image(3, 9, 7);
  double mean = 0;
  for (int y = 0; y < 9; ++y) {
    for (int x = 0; x < 7; ++x) mean += grey(image, y, x) / 63;
  }
  const auto smooth = [&](int c, int y, int x) {
    if (y == 0 || x == 0 || y == 8 || x == 6) return static_cast<double>(pixel(image, c, y, x));
    double sum = 4 * pixel(image, c, y, x);
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) sum += pixel(image, c, y + dy, x + dx);
    }
    return sum / 13;
  };
  for (const double factor : {0.0, 0.1, 0.7, 1.0, 1.9}) {
    Image out = image;
    adjust_brightness(out, factor);
    EXPECT_LE(error_of_pixels(out, [&](int c, int y, int x) { return blend(0, pixel(image, c, y, x), factor); }), 0.5);
    out = image;
    adjust_contrast(out, factor);
    EXPECT_LE(error_of_pixels(
                  out, [&](int c, int y, int x) { return blend(std::round(mean), pixel(image, c, y, x), factor); }),
              0.5);
    out = image;
    adjust_colour(out, factor);
    EXPECT_LE(error_of_pixels(
                  out, [&](int c, int y, int x) { return blend(grey(image, y, x), pixel(image, c, y, x), factor); }),
              1.5);
    out = image;
    adjust_sharpness(out, factor);
    EXPECT_LE(error_of_pixels(
                  out, [&](int c, int y, int x) { return blend(smooth(c, y, x), pixel(image, c, y, x), factor); }),
              1.0);
    EXPECT_EQ(out == image, factor == 1);
  }
}

TEST(Adjust, ChangesSinglePixels) {
  const Image image = random_image(3, 9, 7);
  Image out = image;
  solarize(out, 100);
  EXPECT_EQ(error_of_pixels(out,
                            [&](int c, int y, int x) {
                              const int p = pixel(image, c, y, x);
                              return p < 100 ? p : 255 - p;
                            }),
            0);
  out = image;
  invert(out);
  EXPECT_EQ(error_of_pixels(out, [&](int c, int y, int x) { return 255 - pixel(image, c, y, x); }), 0);
  out = image;
  solarize_add(out, 110);
  EXPECT_EQ(error_of_pixels(out,
                            [&](int c, int y, int x) {
                              const int p = pixel(image, c, y, x);
                              return p < 128 ? p + 110 : p;
                            }),
            0);
  for (const int bits : {0, 1, 4, 8}) {
    out = image;
    posterize(out, bits);
    EXPECT_EQ(error_of_pixels(out,
                              [&](int c, int y, int x) {
                                const int step = 1 << (8 - bits);
                                return pixel(image, c, y, x) / step * step;
                              }),
              0);
  }
}

TEST(Adjust, StretchesAndEqualizesHistograms) {
  Image image(1, 1, 4);
  image.pixels = {50, 60, 80, 100};
  stretch_contrast(image);
  EXPECT_EQ(image.pixels, (std::vector<std::uint8_t>{0, 51, 153, 255}));
  image.pixels = {9, 9, 9, 9};
  stretch_contrast(image);
  EXPECT_EQ(image.pixels, (std::vector<std::uint8_t>{9, 9, 9, 9}));

  Image ramp = random_image(1, 64, 64);
  for (std::uint8_t& value : ramp.pixels) value = static_cast<std::uint8_t>(value / 8 + 100);  // 32 dull greys
  const Image dull = ramp;
  equalize(ramp);
  const auto [low, high] = std::minmax_element(ramp.pixels.begin(), ramp.pixels.end());
  EXPECT_EQ(*low, 0);
  EXPECT_EQ(*high, 255);
  for (std::size_t i = 1; i < ramp.pixels.size(); ++i) {  // the order of the greys stays
    EXPECT_EQ(dull.pixels[i] < dull.pixels[0], ramp.pixels[i] < ramp.pixels[0]);
  }
  for (int value = 0; value < 256; value += 32) {  // about as many dark pixels as bright ones
    const auto below = std::count_if(ramp.pixels.begin(), ramp.pixels.end(), [&](int p) { return p < value; });
    EXPECT_NEAR(static_cast<double>(below) / 4096, value / 256.0, 0.06);
  }
}

TEST(JitterColour, StaysWithinItsStrength) {
  const Image image = random_image(3, 5, 5);
  SampleRandom random(2);
  Image out = image;
  jitter_colour(out, 0, random);
  EXPECT_EQ(out, image);
  Image flat(3, 4, 4);
  std::fill(flat.pixels.begin(), flat.pixels.end(), 100);
  int least = 255, most = 0;
  for (int i = 0; i < 300; ++i) {  // contrast and saturation do not change uniform grey
    out = flat;
    jitter_colour(out, 0.4, random);
    least = std::min<int>(least, out.pixels[0]);
    most = std::max<int>(most, out.pixels[0]);
  }
  EXPECT_GE(least, 60);
  EXPECT_LE(least, 62);
  EXPECT_LE(most, 140);
  EXPECT_GE(most, 138);
}

TEST(Warp, MovesByWholePixelsExactly) {
  const Image image = random_image(3, 7, 9);
  EXPECT_EQ(warp(image, {1, 0, 0, 0, 1, 0}, {1, 2, 3}), image);
  const Image moved = warp(image, {1, 0, 2, 0, 1, -3}, {1, 2, 3});
  EXPECT_EQ(error_of_pixels(moved, [&](int c, int y,
                                       int x) { return x + 2 < 9 && y >= 3 ? pixel(image, c, y - 3, x + 2) : c + 1; }),
            0);
}

TEST(Warp, InterpolatesBetweenPixels) {
  const Image image = random_image(3, 7, 9);
  const Image moved = warp(image, {1, 0, 0.25, 0, 1, 0}, {0, 0, 0});
  EXPECT_LE(error_of_pixels(moved,
                            [&](int c, int y, int x) {
                              return 0.75 * pixel(image, c, y, x) + 0.25 * pixel(image, c, y, std::min(x + 1, 8));
                            }),
            0.5);
}

TEST(RandAugment, DoesEveryOperationAtEveryMagnitude) {
  const Image image = random_image(3, 16, 12);
  const FillColour fill = {1, 2, 3};
  for (int i = 0; i < kAugmentationCount; ++i) {
    const auto augmentation = static_cast<Augmentation>(i);
    bool changed = false;
    for (const double magnitude : {0.0, 5.0, 10.0}) {
      SampleRandom random(1), again(1);
      Image out = image, same = image;
      augment(out, augmentation, magnitude, fill, random);
      augment(same, augmentation, magnitude, fill, again);
      EXPECT_EQ(out, same);
      EXPECT_EQ(std::pair(out.height, out.width), std::pair(16, 12));
      changed = changed || out != image;
    }
    // Random pixels already have a full range and an even histogram; all others do something.
    const bool may_change_nothing =
        augmentation == Augmentation::stretch_contrast || augmentation == Augmentation::equalize;
    EXPECT_TRUE(changed || may_change_nothing) << i;
  }
}

TEST(RandAugment, HasTimmsMagnitudes) {
  Image flat(3, 40, 40);
  std::fill(flat.pixels.begin(), flat.pixels.end(), 100);
  const auto augmented = [&](Augmentation augmentation, double magnitude, std::uint64_t seed) {
    SampleRandom random(seed);
    Image out = flat;
    augment(out, augmentation, magnitude, {0, 0, 0}, random);
    return out;
  };
  std::vector<int> brightness, filled;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    brightness.push_back(augmented(Augmentation::brightness, 9, seed).pixels[0]);
    const Image moved = augmented(Augmentation::translate_x, 10, seed);
    filled.push_back(static_cast<int>(std::count(moved.pixels.begin(), moved.pixels.end(), 0)));
  }
  EXPECT_EQ(*std::max_element(brightness.begin(), brightness.end()), 181);  // 1 + 0.9 * 0.9
  EXPECT_EQ(*std::min_element(brightness.begin(), brightness.end()), 19);
  EXPECT_EQ(filled, std::vector<int>(20, 3 * 40 * 18));  // 0.45 * 40 columns
  EXPECT_EQ(augmented(Augmentation::posterize, 9, 1).pixels[0], 100 & 0x80);
  EXPECT_EQ(augmented(Augmentation::solarize_add, 10, 1).pixels[0], 210);
  EXPECT_EQ(augmented(Augmentation::solarize, 5, 1).pixels[0], 100);  // below the threshold 128
  EXPECT_EQ(augmented(Augmentation::solarize, 7, 1).pixels[0], 155);
}

TEST(RandAugment, RotatesAboutTheCentre) {
  Image dot(1, 21, 21);
  dot.plane(0)[10 * 21 + 10] = 255;
  SampleRandom random(1);
  augment(dot, Augmentation::rotate, 10, {0, 0, 0}, random);
  EXPECT_EQ(dot.plane(0)[10 * 21 + 10], 255);
}

TEST(RandAugment, AppliesHalfOfItsOperations) {
  const Image image = random_image(3, 16, 12);
  int unchanged = 0;
  for (std::uint64_t sample = 0; sample < 1000; ++sample) {
    SampleRandom random(9, sample);
    Image out = image;
    rand_augment(out, {}, random);
    unchanged += out == image;
  }
  // Two operations, each left out with probability 1/2, and two of fifteen that hardly change this image.
  EXPECT_GT(unchanged, 220);
  EXPECT_LT(unchanged, 400);
}

}  // namespace
}  // namespace trasmuon::lab
