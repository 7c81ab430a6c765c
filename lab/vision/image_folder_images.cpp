// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "lab/data/images/adjust.h"
#include "lab/data/images/crop.h"
#include "lab/data/images/decode.h"
#include "lab/data/images/image_folder.h"
#include "lab/data/images/normalize.h"
#include "lab/data/images/rand_augment.h"
#include "lab/data/prefetch.h"
#include "lab/data/rank_positions.h"
#include "lab/data/sample_order.h"
#include "lab/data/sample_random.h"
#include "lab/vision/data_check.h"
#include "lab/vision/images.h"

namespace trasmuon::lab {
namespace {

constexpr int kChannels = 3, kAhead = 512;  // images that are ready or in the making, 0.6 MB each
constexpr double kColourJitter = 0.3;       // DeiT's

using Pixels = std::vector<float>;

class FolderImages final : public Images {
 public:
  explicit FolderImages(const VisionSettings& settings)
      : size_(known_shape(settings).size),
        batch_(settings.training.batch),
        ranks_(settings.training.ranks),
        augment_(settings.augmentation == "deit"),
        training_(read_vision_folder(settings, Split::train)),
        test_(read_vision_folder(settings, Split::test)) {}

  ImageShape shape() const override { return {kChannels, size_, static_cast<int>(training_.classes.size())}; }
  std::int64_t training_count() const override { return training_.count(); }
  std::int64_t test_count() const override { return test_.count(); }

  ImageBatch training_batch(std::uint64_t seed, std::int64_t first, std::int64_t count) override {
    const SampleOrder order(seed, training_.count());
    const RankPositions seen(first, batch_, ranks_);
    if (!ahead_ || seed != seed_ || seen != seen_) {
      seed_ = seed;
      seen_ = seen;
      ahead_ = prefetch([this, seed, order, seen](std::int64_t index) {
        const std::int64_t position = seen.position(index);
        return training_view(training_.files[static_cast<std::size_t>(order[position])],
                             SampleRandom(seed, static_cast<std::uint64_t>(position)));
      });
    }
    return batch_of(*ahead_, training_, seen.index(first), count,
                    [&](std::int64_t index) { return order[seen.position(index)]; });
  }

  ImageBatch test_batch(std::int64_t first, std::int64_t count) override {
    if (!test_ahead_)
      test_ahead_ = prefetch([this](std::int64_t i) {
        const std::int64_t wrapped = i % test_.count();  // the threads run ahead of the last image
        return test_view(test_.files[static_cast<std::size_t>(wrapped)]);
      });
    ImageBatch batch = batch_of(*test_ahead_, test_, first, count, [](std::int64_t i) { return i; });
    return batch;
  }

 private:
  std::unique_ptr<Prefetch<Pixels>> prefetch(std::function<Pixels(std::int64_t)> make) const {
    const int cores = static_cast<int>(std::thread::hardware_concurrency()), threads = std::max(1, cores / ranks_ - 1);
    return std::make_unique<Prefetch<Pixels>>(threads, kAhead, std::move(make));
  }

  template <class SampleAt>
  ImageBatch batch_of(Prefetch<Pixels>& ahead, const ImageFolder& from, std::int64_t first, std::int64_t count,
                      SampleAt&& sample_at) const {
    ImageBatch batch{at::empty({count, kChannels, size_, size_}), at::empty({count}, at::kLong)};
    float* out = batch.images.data_ptr<float>();
    for (std::int64_t i = 0; i < count; ++i) {
      const Pixels pixels = ahead.get(first + i);
      out = std::copy(pixels.begin(), pixels.end(), out);
      batch.labels.data_ptr<std::int64_t>()[i] = from.labels[static_cast<std::size_t>(sample_at(first + i))];
    }
    return batch;
  }

  Pixels normalized(const Image& image) const {
    Pixels pixels(image.pixels.size());
    normalize(image, statistics_, pixels);
    return pixels;
  }

  Pixels test_view(const std::filesystem::path& file) const { return normalized(centre_view(read_image(file), size_)); }

  /// DeiT's recipe: random resized crop, flip, colour jitter, RandAugment, random erasing.
  Pixels training_view(const std::filesystem::path& file, SampleRandom random) const {
    if (!augment_) return test_view(file);
    Image image = random_resized_crop(read_image(file), size_, random);
    if (random.coin()) flip(image);
    jitter_colour(image, kColourJitter, random);
    rand_augment(image, RandAugment{}, random);
    Pixels pixels = normalized(image);
    erase_randomly(pixels, kChannels, size_, size_, RandomErasing{}, random);
    return pixels;
  }

  int size_, batch_, ranks_;
  bool augment_;
  ImageFolder training_, test_;
  ChannelStatistics statistics_ = imagenet_statistics();
  std::uint64_t seed_ = 0;
  std::optional<RankPositions> seen_;
  std::unique_ptr<Prefetch<Pixels>> ahead_, test_ahead_;  // last: their threads use the members above
};

}  // namespace

std::unique_ptr<Images> open_image_folder(const VisionSettings& settings) {
  return std::make_unique<FolderImages>(settings);
}

}  // namespace trasmuon::lab
