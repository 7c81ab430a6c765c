// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/group_record.h"

#include "trasmuon/error.h"
#include "trasmuon/option_fields.h"

namespace trasmuon {

GroupRecord record_of(const Options& options) {
  GroupRecord record{rule_name(options), {}};
  std::visit(
      [&](const auto& o) {
        visit_fields(o, [&](const char* name, const auto&, const Range&, const char*) {
          record.fields[name] = get_field(options, name);
        });
      },
      options);
  return record;
}

Options options_from(const GroupRecord& record, const Options& current) {
  if (record.rule != rule_name(current)) {
    throw Error("rule must be " + std::string(rule_name(current)) + ", as in the optimizer, got " + record.rule);
  }
  GroupRecord whole = record;
  whole.fields.merge(record_of(current).fields);
  // set_field validates after each field. From the defaults and without decay no order of
  // valid fields breaks a rule on two of them; lr * weight_decay is the one that could.
  Options options = options_for(record.rule);
  const auto decay = whole.fields.extract("weight_decay");
  set_field(options, "weight_decay", "0");
  for (const auto& [name, value] : whole.fields) set_field(options, name, value);
  set_field(options, "weight_decay", decay.mapped());
  return options;
}

}  // namespace trasmuon
