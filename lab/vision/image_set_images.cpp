// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "lab/data/images/crop.h"
#include "lab/data/images/image_set.h"
#include "lab/data/images/normalize.h"
#include "lab/data/sample_order.h"
#include "lab/data/sample_random.h"
#include "lab/vision/images.h"

namespace trasmuon::lab {
namespace {

constexpr int kPaddingShare = 8;  // shifts by up to an eighth of the side: 4 pixels of CIFAR's 32

class SetImages final : public Images {
 public:
  explicit SetImages(const VisionSettings& settings)
      : crop_(settings.augmentation == "crop"),
        training_(read_image_set(settings.data, settings.folder, Split::train)),
        test_(read_image_set(settings.data, settings.folder, Split::test)),
        statistics_(channel_statistics(training_)) {}

  ImageShape shape() const override {
    return {static_cast<int>(training_.channels), static_cast<int>(training_.height),
            static_cast<int>(training_.classes)};
  }
  std::int64_t training_count() const override { return training_.count(); }
  std::int64_t test_count() const override { return test_.count(); }

  ImageBatch training_batch(std::uint64_t seed, std::int64_t first, std::int64_t count) override {
    const SampleOrder order(seed, training_.count());
    ImageBatch batch = empty_batch(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t sample = order[first + i];
      Image image = training_.copy(sample);
      if (crop_) shift_and_flip(image, SampleRandom(seed, static_cast<std::uint64_t>(first + i)));
      put(image, training_.label(sample), i, batch);
    }
    return batch;
  }

  ImageBatch test_batch(std::int64_t first, std::int64_t count) override {
    ImageBatch batch = empty_batch(count);
    for (std::int64_t i = 0; i < count; ++i) put(test_.copy(first + i), test_.label(first + i), i, batch);
    return batch;
  }

 private:
  ImageBatch empty_batch(std::int64_t count) const {
    return {at::empty({count, training_.channels, training_.height, training_.width}), at::empty({count}, at::kLong)};
  }

  static void shift_and_flip(Image& image, SampleRandom random) {
    image = random_crop(image, image.height / kPaddingShare, random);
    if (image.channels == 3 && random.coin()) flip(image);
  }

  void put(const Image& image, std::int64_t label, std::int64_t i, ImageBatch& batch) const {
    const std::size_t size = image.pixels.size();
    normalize(image, statistics_, {batch.images.data_ptr<float>() + static_cast<std::size_t>(i) * size, size});
    batch.labels.data_ptr<std::int64_t>()[i] = label;
  }

  bool crop_;
  ImageSet training_, test_;
  ChannelStatistics statistics_;
};

}  // namespace

std::unique_ptr<Images> open_image_set(const VisionSettings& settings) { return std::make_unique<SetImages>(settings); }

}  // namespace trasmuon::lab
