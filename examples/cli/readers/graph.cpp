// SPDX-License-Identifier: Apache-2.0
#include "readers/graph.hpp"

#include "errors.hpp"
#include "readers/dimensions.hpp"
#include "readers/json_document.hpp"

#include <ballast/graph/check.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

using ballast::symbolic;
using range_list = std::span<ballast::dimension const>;

constexpr std::array<std::pair<std::string_view, ballast::operator_kind>, 3> operator_words{{{"forward", ballast::operator_kind::forward},
                                                                                             {"backward", ballast::operator_kind::backward},
                                                                                             {"update", ballast::operator_kind::update}}};
constexpr std::array<std::pair<std::string_view, ballast::tensor_kind>, 5> tensor_words{{{"activation", ballast::tensor_kind::activation},
                                                                                         {"gradient", ballast::tensor_kind::gradient},
                                                                                         {"parameter", ballast::tensor_kind::parameter},
                                                                                         {"state", ballast::tensor_kind::state},
                                                                                         {"temporary", ballast::tensor_kind::temporary}}};

[[nodiscard]] std::string shown_value(nlohmann::json const& value) {
  return printable(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

/// Names of one kind of thing, and their indices.
class index_of_names {
 public:
  /// Returns the index that had the name before, or the new one.
  std::uint32_t add(std::string const& name) { return of_.emplace(name, static_cast<std::uint32_t>(of_.size())).first->second; }
  [[nodiscard]] std::uint32_t const* find(std::string const& name) const {
    auto const at = of_.find(name);
    return at == of_.end() ? nullptr : &at->second;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> of_;
};

/// An object of the list `list`, and how its fields are read.
class graph_entry {
 public:
  graph_entry(nlohmann::json const& value, std::string const& file, char const* list, std::size_t index)
      : value_(value), file_(file), list_(list), index_(index) {
    if (!value.is_object()) fail("expected an object, not " + shown_value(value));
  }

  [[noreturn]] void fail(std::string const& why) const {
    throw bad_input(file_ + ": " + list_ + "[" + std::to_string(index_) + "]" + (name_.empty() ? "" : " (" + printable(name_) + ")") +
                    ": " + why);
  }
  void require_only(std::initializer_list<std::string_view> known) const {
    for (auto const& [key, unused] : value_.items())
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        std::string words;
        for (auto const word : known) words += (words.empty() ? "" : ", ") + std::string(word);
        fail("the key " + printable(key) + " is not known; there are " + words);
      }
  }
  std::string const& name() {
    auto const at = value_.find("name");
    if (at == value_.end() || !at->is_string() || at->get_ref<std::string const&>().empty())
      fail("the key name is missing, or not a text; every operator and tensor has a name");
    return name_ = at->get_ref<std::string const&>();
  }
  /// A whole number, or a polynomial if the graph has dimensions.
  template <class Number>
  [[nodiscard]] Number number(char const* key, bool needed, [[maybe_unused]] range_list dimensions) const {
    auto const at = value_.find(key);
    if (at == value_.end() && !needed) return 0;
    if (at == value_.end()) fail(std::string("the key ") + key + " is missing");
    if constexpr (std::is_same_v<Number, symbolic>)
      if (at->is_string()) return polynomial(key, at->get_ref<std::string const&>(), dimensions);
    constexpr auto most = (std::uint64_t{1} << 62) - 1;
    if (!at->is_number_unsigned() || at->get<std::uint64_t>() > most)
      fail(std::string(key) + ": " + shown_value(*at) + " is not a whole number from 0 to 2^62-1" +
           (at->is_string() ? "; for a polynomial, give --dimensions" : ""));
    return static_cast<std::int64_t>(at->get<std::uint64_t>());
  }
  [[nodiscard]] bool flag(char const* key, bool otherwise) const {
    auto const at = value_.find(key);
    if (at == value_.end()) return otherwise;
    if (!at->is_boolean()) fail(std::string(key) + ": " + shown_value(*at) + " is not true or false");
    return at->get<bool>();
  }
  template <class Words>
  [[nodiscard]] auto word(char const* key, Words const& words) const {
    auto const at = value_.find(key);
    if (at == value_.end()) return words.front().second;
    std::string all;
    for (auto const& [word, kind] : words) {
      if (at->is_string() && at->template get_ref<std::string const&>() == word) return kind;
      all += (all.empty() ? "" : ", ") + std::string(word);
    }
    fail(std::string(key) + ": " + shown_value(*at) + " is not one of " + all);
  }
  /// The tensor that `value` names, or has the index of.
  [[nodiscard]] std::uint32_t tensor(nlohmann::json const& value, std::string const& what, index_of_names const& names,
                                     std::size_t tensors) const {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() < tensors) return static_cast<std::uint32_t>(value.get<std::uint64_t>());
    if (value.is_string())
      if (auto const* const found = names.find(value.get_ref<std::string const&>())) return *found;
    fail(what + ": there is no tensor " + shown_value(value) + "; tensors[] lists the names, and indices count from 0");
  }
  [[nodiscard]] nlohmann::json const* find(char const* key) const {
    auto const at = value_.find(key);
    return at == value_.end() || at->is_null() ? nullptr : &*at;
  }

 private:
  [[nodiscard]] symbolic polynomial(char const* key, std::string const& text, range_list dimensions) const try {
    auto out = read_polynomial(text, dimensions);
    if (out.bounds(dimensions).low < 0) throw bad_input(printable(text) + ": may be negative within --dimensions");
    return out;
  } catch (bad_input const& e) {
    fail(std::string(key) + ": " + e.what());
  }

  nlohmann::json const& value_;
  std::string const& file_;
  char const* list_;
  std::size_t index_;
  std::string name_;
};

template <class Number>
class graph_reader {
 public:
  graph_reader(nlohmann::json const& document, std::string const& name, range_list dimensions = {})
      : document_(document), file_(name), dimensions_(dimensions) {
    if (document.is_discarded()) throw bad_input(file_ + ": not JSON");
    if (!document.is_object()) throw bad_input(file_ + ": expected an object with the lists operators and tensors");
    for (auto const* const key : {"operators", "tensors"})
      if (!document.contains(key) || !document[key].is_array()) throw bad_input(file_ + ": the list " + key + " is missing");
    for (auto const& [key, unused] : document.items())
      if (key != "operators" && key != "tensors")
        throw bad_input(file_ + ": the key " + printable(key) + " is not known; there are operators and tensors");
  }
  [[nodiscard]] ballast::basic_graph<Number> read() {
    auto const& tensors = document_["tensors"];
    auto const& operators = document_["operators"];
    if (operators.empty()) throw bad_input(file_ + ": there are no operators in it");
    if (tensors.size() > most_entries || operators.size() > most_entries) throw bad_input(file_ + ": more than 2^31 entries");
    for (std::size_t i = 0; i < tensors.size(); ++i) read_tensor(graph_entry(tensors[i], file_, "tensors", i));
    for (std::size_t i = 0; i < tensors.size(); ++i) read_sharing(graph_entry(tensors[i], file_, "tensors", i), i);
    for (std::size_t i = 0; i < operators.size(); ++i) read_operator(graph_entry(operators[i], file_, "operators", i));
    if (auto const v = check_graph(out_); !v.valid()) throw bad_input(file_ + ": " + describe(v, out_) + remedy(v.fault));
    return std::move(out_);
  }

 private:
  static constexpr std::size_t most_entries = (std::numeric_limits<std::int32_t>::max)();

  void read_tensor(graph_entry entry) {
    ballast::graph_tensor<Number> t;
    t.name = entry.name();
    if (tensor_names_.add(t.name) != out_.tensors.size()) entry.fail("another tensor has this name");
    entry.require_only({"name", "bytes", "kind", "kept", "view_of", "in_place_of"});
    t.bytes = entry.template number<Number>("bytes", true, dimensions_);
    t.kind = entry.word("kind", tensor_words);
    t.kept = entry.flag("kept", t.kind == ballast::tensor_kind::parameter || t.kind == ballast::tensor_kind::state);
    out_.add(std::move(t));
  }
  void read_sharing(graph_entry entry, std::size_t i) {
    (void)entry.name();
    auto const* const view = entry.find("view_of");
    auto const* const place = entry.find("in_place_of");
    if (view != nullptr && place != nullptr) entry.fail("a tensor is view_of or in_place_of another, not both");
    if (view == nullptr && place == nullptr) return;
    auto& t = out_.tensors[i];
    t.shares =
        entry.tensor(view != nullptr ? *view : *place, view != nullptr ? "view_of" : "in_place_of", tensor_names_, out_.tensors.size());
    t.in_place = place != nullptr;
  }
  void read_operator(graph_entry entry) {
    ballast::graph_operator<Number> o;
    o.name = entry.name();
    if (operator_names_.add(o.name) != out_.size()) entry.fail("another operator has this name");
    entry.require_only({"name", "kind", "time", "workspace", "inputs", "outputs"});
    o.kind = entry.word("kind", operator_words);
    o.time = entry.template number<Number>("time", false, dimensions_);
    o.workspace = entry.template number<Number>("workspace", false, dimensions_);
    auto reads = tensors_of(entry, "inputs");
    read_by_.resize(out_.tensors.size());
    std::erase_if(reads, [&](auto t) { return std::exchange(read_by_[t], out_.size() + 1) == out_.size() + 1; });
    out_.add(std::move(o), reads, tensors_of(entry, "outputs"));
  }
  [[nodiscard]] std::vector<std::uint32_t> tensors_of(graph_entry const& entry, char const* key) const {
    std::vector<std::uint32_t> out;
    auto const* const list = entry.find(key);
    if (list == nullptr) return out;
    if (!list->is_array()) entry.fail(std::string(key) + ": expected a list of tensors, not " + shown_value(*list));
    for (std::size_t k = 0; k < list->size(); ++k)
      out.push_back(entry.tensor((*list)[k], std::string(key) + "[" + std::to_string(k) + "]", tensor_names_, out_.tensors.size()));
    return out;
  }
  [[nodiscard]] static std::string remedy(ballast::rule const& broken) {
    using fault = ballast::graph_fault;
    if (broken == fault::read_too_early) return "; list the operators in an order in which they can run";
    if (broken == fault::read_overwritten) return "; read it before, or let in_place_of name no tensor that is still needed";
    if (broken == fault::shares_unread) return "; name it among the inputs of that operator";
    if (broken == fault::named_twice) return "; an output is named once, and is no input of its operator (in_place_of is for that)";
    return {};
  }

  nlohmann::json const& document_;
  std::string const& file_;
  range_list dimensions_;
  ballast::basic_graph<Number> out_;
  index_of_names tensor_names_, operator_names_;
  std::vector<std::size_t> read_by_;  // for each tensor, 1 + the last operator that reads it
};

template <class Words, class Kind>
[[nodiscard]] std::string_view word_of(Words const& words, Kind kind) noexcept {
  for (auto const& [word, of] : words)
    if (of == kind) return word;
  return {};
}

[[nodiscard]] std::string line_of(nlohmann::ordered_json const& entry) {
  return "  " + entry.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void number_names(auto& entries) {
  index_of_names names;
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    auto const name = entries[i].name;
    for (int k = 2; names.add(entries[i].name) != i; ++k) entries[i].name = name + " (" + std::to_string(k) + ")";
  }
}

/// The graph as JSON, with numbers as `shown(number)`.
template <class Number, class Shown>
[[nodiscard]] std::string json_of(ballast::basic_graph<Number> const& graph, Shown const& shown) {
  std::string out = "{\"operators\": [\n";
  for (std::size_t v = 0; v < graph.size(); ++v) {
    auto const& o = graph.operators[v];
    nlohmann::ordered_json entry{{"name", o.name}, {"kind", to_string(o.kind)}, {"time", shown(o.time)}};
    if (!(o.workspace == Number{})) entry["workspace"] = shown(o.workspace);
    for (auto const& [key, row] : {std::pair{"inputs", graph.inputs[v]}, {"outputs", graph.outputs[v]}}) {
      auto& list = entry[key] = nlohmann::ordered_json::array();
      for (auto const t : row) list.push_back(graph.tensors[t].name);
    }
    out += line_of(entry) + (v + 1 < graph.size() ? ",\n" : "\n");
  }
  out += "], \"tensors\": [\n";
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    auto const& t = graph.tensors[i];
    nlohmann::ordered_json entry{{"name", t.name}, {"bytes", shown(t.bytes)}, {"kind", to_string(t.kind)}};
    if (t.kept != (t.kind == ballast::tensor_kind::parameter || t.kind == ballast::tensor_kind::state)) entry["kept"] = t.kept;
    if (t.shares != ballast::graph_tensor<>::own) entry[t.in_place ? "in_place_of" : "view_of"] = graph.tensors[t.shares].name;
    out += line_of(entry) + (i + 1 < graph.tensors.size() ? ",\n" : "\n");
  }
  return out + "]}\n";
}

}  // namespace

std::string_view to_string(ballast::operator_kind kind) noexcept { return word_of(operator_words, kind); }
std::string_view to_string(ballast::tensor_kind kind) noexcept { return word_of(tensor_words, kind); }

ballast::graph read_graph(std::string_view bytes, std::string const& name) {
  auto const document = parse_document(bytes, name);
  return graph_reader<std::int64_t>(document, name).read();
}
ballast::basic_graph<symbolic> read_symbolic_graph(std::string_view bytes, std::string const& name, range_list dimensions) {
  auto const document = parse_document(bytes, name);
  return graph_reader<symbolic>(document, name, dimensions).read();
}

void make_names_differ(ballast::graph& graph) {
  number_names(graph.operators);
  number_names(graph.tensors);
}
void make_names_differ(ballast::basic_graph<symbolic>& graph) {
  number_names(graph.operators);
  number_names(graph.tensors);
}

std::string graph_json(ballast::graph const& graph) {
  return json_of(graph, [](std::int64_t number) { return number; });
}
std::string graph_json(ballast::basic_graph<symbolic> const& graph, range_list dimensions) {
  return json_of(graph, [&](symbolic const& p) {
    auto const constant = p.terms().empty() || p.terms().back().powers.empty();  // terms are in order of their powers
    return constant ? nlohmann::ordered_json(p(std::span<std::int64_t const>{}))
                    : nlohmann::ordered_json(ballast::to_string(p, dimensions));
  });
}

}  // namespace ballast_cli
