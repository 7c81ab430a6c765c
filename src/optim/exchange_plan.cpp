// SPDX-License-Identifier: Apache-2.0
#include "optim/exchange_plan.h"

#include <algorithm>
#include <string>

#include "trasmuon/error.h"

namespace trasmuon {
namespace {

/// Rows of one parameter on every rank.
std::vector<RowRange> ranges_of(const ShardedStepOptions& options, std::size_t parameter, std::size_t parameters) {
  std::vector<RowRange> ranges;
  std::int64_t first = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(options.ranks); ++r) {
    const std::int64_t count = options.rows[r * parameters + parameter];
    ranges.push_back({first, count});
    first += count;
  }
  return ranges;
}

void check_rows(const ParameterEntry& entry, const ShardedStepOptions& options, std::size_t index, std::size_t count) {
  const std::string who = "parameter '" + entry.parameter.name + "': rows of rank ";
  const RowShard& shard = *entry.parameter.shard;
  std::int64_t sum = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(options.ranks); ++r) {
    const std::int64_t rows = options.rows[r * count + index];
    if (rows < 0 || rows > shard.total_rows - sum) {
      throw Error(who + std::to_string(r) + " must be in [0, " + std::to_string(shard.total_rows - sum) +
                  "], what is left of " + std::to_string(shard.total_rows) + " rows, got " + std::to_string(rows));
    }
    const std::int64_t here = entry.parameter.weight.shape[0];
    if (static_cast<int>(r) == options.rank && (sum != shard.first_row || rows != here)) {
      throw Error(who + std::to_string(r) + ", this one, must be " + std::to_string(here) + " from row " +
                  std::to_string(shard.first_row) + ", as its shard says, got " + std::to_string(rows) + " from row " +
                  std::to_string(sum));
    }
    sum += rows;
  }
  if (sum != shard.total_rows) {
    throw Error("parameter '" + entry.parameter.name + "': rows of all ranks must sum to " +
                std::to_string(shard.total_rows) + ", got " + std::to_string(sum));
  }
}

/// One row block of a cut parameter.
struct Block {
  CutMatrix matrix;
  RowRange rows;               ///< of the whole parameter
  std::vector<RowRange> held;  ///< rows of the parameter on each rank
  std::size_t group = 0;
  double cost = 0;  ///< 0: not orthogonalized, its rows stay where they are
  int owner = 0;

  /// The rows of this block that a rank holds, counted from the block's first.
  RowRange on(std::size_t rank) const {
    const RowRange& range = held[rank];
    const std::int64_t first = std::clamp(range.first - rows.first, std::int64_t{0}, rows.count);
    const std::int64_t last = std::clamp(range.first + range.count - rows.first, std::int64_t{0}, rows.count);
    return {first, last - first};
  }
  /// Bytes of that many elements, with padding: what follows is aligned for any type and for vectors.
  std::size_t padded(std::int64_t elements) const {
    constexpr std::size_t kAlignment = 16;
    const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(matrix.wire);
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::size_t bytes(std::int64_t count) const { return padded(count * matrix.n()); }
  std::size_t answer_bytes(std::int64_t count) const { return padded(answer_of(matrix, count)); }
};

double cost_of(const CutMatrix& x) {
  if (x.dion != nullptr) {
    // B Q and B^T P, and every row of P^T against the rows before it, there and back, twice.
    const double m = static_cast<double>(x.m()), n = static_cast<double>(x.n());
    const double rank = static_cast<double>(x.rows->basis.cols);
    return std::max(1.0, 2 * m * n * rank + 2 * m * rank * rank);
  }
  if (!x.plan->orthogonalize) return 0;
  return std::max(1.0, iteration_cost(x.m(), x.n(), static_cast<int>(x.plan->orthogonalize->triples.size())));
}

/// The type in which rows travel. Dion tells columns that depend on others from rounding errors by their size, and
/// errors of 16 bits would pass for columns.
DType wire_of(const CutMatrix& x, DType wanted) {
  return x.dion != nullptr || x.rows->compute == DType::f64 ? x.rows->compute : wanted;
}

/// Lists the row blocks of all cut parameters.
std::vector<Block> blocks_of(ParameterTable& table, const ShardedStepOptions& options, std::span<const Plan> plans) {
  std::vector<Block> blocks;
  const std::size_t parameters = table.entries().size();
  for (std::size_t p = 0; p < parameters && options.ranks > 1; ++p) {
    ParameterEntry& entry = table.entries()[p];
    if (!entry.layout.cut) continue;
    std::int64_t first = 0;
    for (std::size_t b = 0; b < entry.layout.blocks.size(); ++b) {
      Block block;
      block.matrix.rows = &table.matrices_of(entry)[entry.first_matrix + b];
      set_plan(plans[entry.group], block.matrix);
      block.matrix.wire = wire_of(block.matrix, options.wire);
      block.rows = {first, entry.layout.blocks[b]};
      block.held = ranges_of(options, p, parameters);
      block.group = entry.group;
      block.cost = cost_of(block.matrix);
      first += block.rows.count;
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

Ownership find_owners(std::vector<Block>& blocks, const ShardedStepOptions& options) {
  std::vector<double> costs;
  for (const Block& block : blocks) costs.push_back(block.cost);
  Ownership ownership = assign_owners(costs, options.ranks);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].owner = ownership.owners[i];
    blocks[i].matrix.owned = blocks[i].cost > 0 && blocks[i].owner == options.rank;
  }
  return ownership;
}

void lay_out_sums(std::vector<Block>& blocks, ExchangeSizes& sizes) {
  for (Block& block : blocks) {
    block.matrix.sums = sizes.sums;
    block.matrix.norms = sizes.norms;
    sizes.sums += sums_of(block.matrix);
    sizes.norms += norms_of(block.matrix);
  }
}

/// The rows that this rank sends and what it gets back, in the order of the ranks that own them, then of the matrices.
void lay_out_sent(std::vector<Block>& blocks, const ShardedStepOptions& options, ExchangeSizes& sizes) {
  std::size_t offset = 0, answer = 0;
  for (int owner = 0; owner < options.ranks; ++owner) {
    const std::size_t before = offset, answer_before = answer;
    for (Block& block : blocks) {
      if (block.owner != owner || block.cost == 0) continue;
      block.matrix.packed = offset;
      block.matrix.returned = answer;
      offset += block.bytes(block.matrix.rows->m);
      answer += block.answer_bytes(block.matrix.rows->m);
    }
    sizes.to_owners.push_back(offset - before);
    sizes.from_owners.push_back(answer - answer_before);
  }
}

/// The rows that this rank gathers and what it answers, in the order of the ranks that hold them, then of the matrices.
void lay_out_gathered(std::vector<Block>& blocks, const ShardedStepOptions& options, ExchangeSizes& sizes) {
  std::size_t offset = 0, answer = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(options.ranks); ++r) {
    const std::size_t before = offset, answer_before = answer;
    for (Block& block : blocks) {
      const RowRange rows = block.on(r);
      if (!block.matrix.owned || answer_of(block.matrix, rows.count) == 0) continue;
      block.matrix.gathered.push_back({offset, answer, rows.first, rows.count});
      offset += block.bytes(rows.count);
      answer += block.answer_bytes(rows.count);
    }
    sizes.from_holders.push_back(offset - before);
    sizes.to_holders.push_back(answer - answer_before);
  }
}

}  // namespace

void check_sharding(ParameterTable& table, const ShardedStepOptions& options) {
  const std::string who = "sharded step: ";
  constexpr int kMostRanks = 65535;  // what a tally can count
  if (options.ranks < 1 || options.ranks > kMostRanks)
    throw Error(who + "ranks must be in [1, 65535], got " + std::to_string(options.ranks));
  if (options.rank < 0 || options.rank >= options.ranks) {
    throw Error(who + "rank must be in [0, " + std::to_string(options.ranks - 1) + "], got " +
                std::to_string(options.rank));
  }
  if (options.wire != DType::f32 && options.wire != DType::bf16 && options.wire != DType::f16)
    throw Error(who + "wire must be f32, bf16 or f16, got " + to_string(options.wire));
  const std::size_t count = table.entries().size(), expected = count * static_cast<std::size_t>(options.ranks);
  if (options.rows.size() != expected) {
    throw Error(who + "rows must have an entry for each of " + std::to_string(options.ranks) + " ranks and " +
                std::to_string(count) + " parameters, " + std::to_string(expected) + ", got " +
                std::to_string(options.rows.size()));
  }
  const ParameterEntry* first = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const ParameterEntry& entry = table.entries()[i];
    if (entry.parameter.shard) check_rows(entry, options, i, count);
    if (!entry.layout.cut) continue;
    if (first == nullptr) first = &entry;
    if (first->parameter.device == entry.parameter.device) continue;
    throw Error("parameter '" + entry.parameter.name + "': must be on " + to_string(first->parameter.device) +
                " like '" + first->parameter.name + "', got " + to_string(entry.parameter.device) +
                "; use one optimizer per device");
  }
}

void set_plan(const Plan& plan, CutMatrix& matrix) {
  matrix.plan = std::get_if<MuonPipeline>(&plan);
  matrix.dion = std::get_if<DionOptions>(&plan);
}

ExchangePlan plan_exchange(ParameterTable& table, const ShardedStepOptions& options, std::span<const Plan> plans) {
  ExchangePlan plan;
  std::vector<Block> blocks = blocks_of(table, options, plans);
  plan.ownership = find_owners(blocks, options);
  lay_out_sums(blocks, plan.sizes);
  lay_out_sent(blocks, options, plan.sizes);
  lay_out_gathered(blocks, options, plan.sizes);
  for (Block& block : blocks) {
    plan.matrices.push_back(std::move(block.matrix));
    plan.groups.push_back(block.group);
  }
  for (const ParameterEntry& entry : table.entries()) {
    if (entry.layout.cut) plan.device = entry.parameter.device;
  }
  return plan;
}

}  // namespace trasmuon
