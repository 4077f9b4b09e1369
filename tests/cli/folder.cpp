// SPDX-License-Identifier: Apache-2.0
#include "report/plan_folder.hpp"

#include "errors.hpp"
#include "program.hpp"
#include "refused.hpp"

#include "support/catch.hpp"
#include "support/rounds.hpp"

#include <ballast/core/random.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// What stands under the name of a plan, whoever writes it at the same time and whenever a writer is killed.

namespace test_cli_folder {

namespace {

using namespace ballast_test;
namespace fs = std::filesystem;
using ballast_cli::rename_calls, ballast_cli::system_renames;

/// A folder where files are on no disk, whose turns take most of the time; the usual one where there is none.
fs::path memory() {
  fs::path const shared = "/dev/shm";
  return ::access(shared.c_str(), W_OK) == 0 ? shared : fs::temp_directory_path();
}

/// Files that all say who wrote them; one more where the number is odd.
void write(fs::path const& folder, int writer, rename_calls const& calls = system_renames) {
  auto const who = std::to_string(writer);
  std::vector<ballast_cli::folder_file> files{{"offsets.npy", who, {}}, {"members.npy", {}, who}};
  if (writer % 2 != 0) files.push_back({"steps.npy", who, {}});
  ballast_cli::write_plan(folder.string(), files, "{\"schema\": 1, \"writer\": " + who + "}", calls);
}

/// Who wrote all of a folder; -1 where files are missing, or are not of one writer.
int writer_of(fs::path const& folder) {
  auto const who = read_whole(folder / "offsets.npy");
  if (who.empty() || read_whole(folder / "members.npy") != who) return -1;
  auto const odd = (who.back() - '0') % 2 != 0;
  if (read_whole(folder / "plan.json") != "{\"schema\": 1, \"writer\": " + who + "}") return -1;
  if (odd ? read_whole(folder / "steps.npy") != who : fs::exists(folder / "steps.npy")) return -1;
  return std::stoi(who);
}

std::set<std::string> names_in(fs::path const& folder) {
  std::set<std::string> names;
  for (auto const& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

/// Runs it in a process of its own, silently; returns the process.
[[nodiscard]] pid_t start(std::function<void()> const& what) {
  auto const child = ::fork();
  REQUIRE(child >= 0);
  if (child != 0) return child;
  (void)std::freopen("/dev/null", "w", stderr);
  auto code = 0;
  try {
    what();
  } catch (std::exception const&) {
    code = 1;
  }
  ::_exit(code);
}
int wait_for(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int stopped = 9;
int stops_at = 0, calls_so_far = 0;  // of a child; an even number is before a call, an odd one behind it
auto counted(auto const& call) {
  if (calls_so_far++ == stops_at) ::_exit(stopped);
  auto const result = call();
  auto const error = errno;
  if (calls_so_far++ == stops_at) ::_exit(stopped);
  errno = error;
  return result;
}
int move(char const* from, char const* to) {
  return counted([&] { return system_renames.move(from, to); });
}
int exchange(char const* one, char const* other) {
  return counted([&] { return system_renames.exchange(one, other); });
}
int no_exchange(char const*, char const*) {
  errno = EINVAL;
  return -1;
}
rename_calls const ways[] = {{move, exchange}, {move, no_exchange}};

}  // namespace

TEST_CASE("a writer that is killed at any step leaves a complete plan, and the next run leaves nothing else", "[cli]") {
  for (auto const& calls : ways)
    for (auto const before : {0, 1})  // whether there is an older plan
      for (int stop = 0, code = stopped; code == stopped; ++stop) {
        scratch const in(memory());
        CAPTURE(calls.exchange == exchange, before, stop);
        auto const plan = in / "plan";
        if (before != 0) write(plan, before);
        code = wait_for(start([&] {
          stops_at = stop;
          write(plan, 2, calls);
        }));
        REQUIRE((code == stopped || code == 0));
        auto const aside = ballast_cli::set_aside_beside(plan.string());
        if (fs::exists(plan))
          CHECK((writer_of(plan) == 2 || (code == stopped && writer_of(plan) == before)));
        else if (before != 0)
          CHECK((aside && writer_of(*aside) == before));
        if (aside) {
          auto const told = in.ballast("check plan plan --capacity 1");
          CHECK(told.code == 2);
          CHECK(told.err.find("an interrupted run left it as ") != std::string::npos);
          auto const restored = wait_for(start([&] {  // a next run that fails
            try {
              ballast_cli::write_plan(plan.string(), {{"no/where", {}, {}}}, "{}");
            } catch (ballast_cli::cannot_write const&) {
            }
          }));
          CHECK(restored == 0);
          CHECK(writer_of(plan) == before);
        }
        CHECK(wait_for(start([&] { write(plan, 3); })) == 0);
        CHECK(writer_of(plan) == 3);
        CHECK(names_in(in / "") == (aside ? std::set<std::string>{".err", ".out", "plan"} : std::set<std::string>{"plan"}));
      }
}

TEST_CASE("writers at the same time never mix their plans", "[cli]") {
  for (auto const& calls : {system_renames, rename_calls{system_renames.move, no_exchange}}) {
    scratch const in(memory());
    auto const plan = in / "plan";
    std::vector<pid_t> writers;
    for (int w = 1; w <= 4; ++w)
      writers.push_back(start([&, w] {
        for (int round = 0; round < 8; ++round) write(plan, 10 * round + w, calls);
      }));
    for (auto const writer : writers) CHECK(wait_for(writer) == 0);
    CHECK(writer_of(plan) / 10 == 7);
    CHECK(names_in(in / "") == std::set<std::string>{"plan"});
  }
}

TEST_CASE("what comes under the name while a writer is at it is replaced where it is a plan, and kept where it is not", "[cli]") {
  static std::string folder;  // of what the calls below do, as they take nothing else
  static std::function<void()> once;
  rename_calls const before_exchange{system_renames.move, [](char const* one, char const* other) {
                                       if (once) std::exchange(once, nullptr)();
                                       return system_renames.exchange(one, other);
                                     }};
  rename_calls const before_move{[](char const* from, char const* to) {
                                   if (once && from == folder) std::exchange(once, nullptr)();
                                   return system_renames.move(from, to);
                                 },
                                 no_exchange};
  rename_calls const behind_move{[](char const* from, char const* to) {
                                   auto const moved = system_renames.move(from, to);
                                   if (once && from == folder) std::exchange(once, nullptr)();
                                   return moved;
                                 },
                                 no_exchange};
  for (auto const* const calls : {&before_exchange, &before_move, &behind_move}) {
    scratch const in(memory());
    auto const plan = in / "plan";
    folder = fs::weakly_canonical(plan).string();
    CAPTURE(calls == &before_exchange, calls == &before_move);
    write(plan, 1);
    once = [&] { write(plan, 3); };
    write(plan, 2, *calls);
    CHECK_FALSE(once);
    CHECK(writer_of(plan) == 2);
    CHECK(names_in(in / "") == std::set<std::string>{"plan"});
    if (calls == &behind_move) continue;
    once = [&] { in.file("plan/notes.txt", "mine"); };
    CHECK_THROWS_AS(write(plan, 3, *calls), ballast_cli::bad_input);
    CHECK_FALSE(once);
    CHECK(writer_of(plan) == 2);
    CHECK(read_whole(plan / "notes.txt") == "mine");
    CHECK(names_in(in / "") == std::set<std::string>{"plan"});
  }
}

TEST_CASE("a folder under construction is left alone while its writer lives, and removed afterwards", "[cli]") {
  constexpr std::string_view names[] = {"offsets.npy"};
  ballast_cli::folder_kind const kind{names, [](std::string const&) { return true; }};
  scratch const in;
  auto const plan = (in / "plan").string();
  {
    ballast_cli::folder_writer living(plan, kind);
    living.add({"offsets.npy", "of the living", {}});
    auto const dead = start([&] {
      ballast_cli::folder_writer dying(plan, kind);
      dying.add({"offsets.npy", "of the dead", {}});
      ::_exit(stopped);
    });
    CHECK(wait_for(dead) == stopped);
    CHECK(names_in(in / "").size() == 2);
    (void)ballast_cli::folder_writer(plan, kind);
    CHECK(names_in(in / "").size() == 1);
    living.commit();
  }
  CHECK(read_whole(plan + "/offsets.npy") == "of the living");
  CHECK(names_in(in / "") == std::set<std::string>{"plan"});

  in.file(".f.ballast-0123456789abcdef", "half a fi");  // as a run leaves it that was killed
  in.file(".f.ballast-0123456789abcdeg", "another's");
  REQUIRE(in.ballast("generate --like vlm-sft --samples 3 --out f").code == 0);
  CHECK(names_in(in / "") == std::set<std::string>{".err", ".out", ".f.ballast-0123456789abcdeg", "f", "plan"});
}

TEST_CASE("programs of equal process numbers, and killed ones, leave one plan", "[cli]") {
  scratch const in;
  in.file("f", as_text(std::vector<std::int64_t>(20000, 7)));
  // Each in a name space of its own, where the system lets us: both are process 1.
  auto const alone = in.shell("unshare -Urpf true").code == 0 ? std::string("unshare -Urpf ") : std::string();
  auto const valid =
      "{ \"$B\" check plan f --capacity 20 >a || \"$B\" check plan f --capacity 30 >a; } && test \"$(ls -A | grep -c plan)\" = 1\n";
  CHECK(in.shell("for round in 1 2 3 4 5 6 7 8; do\n" + alone + "\"$B\" pack f --capacity 20 --out plan >a & " + alone +
                 "\"$B\" pack f --capacity 30 --out plan >b & wait\n" + valid + "test $? = 0 || exit 1\ndone")
            .code == 0);
  auto const killed = in.shell(
      "for after in 0.002 0.004 0.006 0.008 0.01 0.012; do\n\"$B\" pack f --capacity 20 --out plan >a & sleep $after; kill -9 $!; wait $!\n"
      "{ \"$B\" check plan f --capacity 20 || \"$B\" check plan f --capacity 30; } >a || exit 1\ndone\n"
      "\"$B\" pack f --capacity 30 --out plan >a && test \"$(ls -A | grep -c plan)\" = 1 && \"$B\" check plan f --capacity 30 >a");
  CAPTURE(killed.err);
  CHECK(killed.code == 0);
}

TEST_CASE("a folder that holds what ballast did not write is not replaced", "[cli]") {
  scratch const in;
  in.file("f", "5\n6\n7\n");
  auto const pack = [&](std::string const& out) { return in.ballast("pack f --capacity 10 --out " + out); };
  auto const refused = [&](std::string const& out, std::string const& sentence) {
    auto const o = pack(out);
    CAPTURE(out, o.err);
    CHECK(o.code == 2);
    CHECK(o.err.find(out + ": " + sentence) == 0);
    CHECK(std::count(o.err.begin(), o.err.end(), '\n') == 1);
  };
  REQUIRE(pack("plan").code == 0);
  in.file("plan/notes.txt", "mine");
  refused("plan", "the folder holds notes.txt, which ballast did not write");
  CHECK(read_whole(in / "plan/notes.txt") == "mine");
  fs::remove(in / "plan/notes.txt");
  CHECK(pack("plan").code == 0);
  for (std::string const json : {"", "[1]", "{\"name\": \"mine\"}"}) {  // plans of something else
    fs::create_directory(in / "d");
    in.file("d/offsets.npy", "mine");
    if (!json.empty()) in.file("d/plan.json", json);
    refused("d", "the folder holds files, but no plan.json that vouches for them");
    CHECK(read_whole(in / "d/offsets.npy") == "mine");
    fs::remove_all(in / "d");
  }
  refused(".", "is the working folder");
  refused("..", "the folder holds ");
  CHECK(in.shell("mkdir here && cd here && \"$B\" pack ../f --capacity 10 --out ./").code == 2);
  CHECK(pack("new/deep/plan/").code == 0);
  CHECK(in.ballast("check new/deep/plan f --capacity 10").code == 0);
  CHECK(in.shell("mkdir real && chmod 700 real && ln -s real link && \"$B\" pack f --capacity 10 --out link").code == 0);
  CHECK(fs::is_symlink(in / "link"));
  CHECK(fs::exists(in / "real/plan.json"));
  CHECK(fs::status(in / "real").permissions() == fs::perms::owner_all);
  CHECK(fs::exists(in / "plan/plan.json"));
  CHECK(in.ballast("plan f --capacity 10 --ranks 1 --out '' --json").err ==
        "--out an empty field: expected a value; leave the option out if there is none\n");
  CHECK(in.ballast("generate --like vlm-sft --samples 1 --out ''").code == 2);
  CHECK(in.ballast("generate --like vlm-sft --samples 1 --out plan").err == "plan: cannot be written: Is a directory\n");
}

TEST_CASE("check demands a complete folder, all of one plan", "[cli]") {
  scratch const in;
  in.file("f", "5\n6\n7\n8\n9\n");
  auto const limits = " f --capacity 4096";
  REQUIRE(in.ballast("plan f --capacity 4096 --gpus 2 --levels auto --out levels").code == 0);
  REQUIRE(in.ballast("plan f --capacity 4096 --ranks 2 --out plan").code == 0);
  REQUIRE(in.ballast("pack f --capacity 4096 --out pack").code == 0);
  in.file("g", as_text(std::vector<std::int64_t>(300, 1500)) + as_text(std::vector<std::int64_t>(300, 40)));
  REQUIRE(in.ballast("plan g --capacity 4096 --ranks 2 --micro-batches 3 --stages 2 --model gpt2-xl --out stages").code == 0);
  CHECK(in.ballast("check stages g --capacity 4096").code == 0);  // whose ranks have more places than 3
  REQUIRE(in.ballast("pack f --capacity 10 --strategy next-fit --out ten").code == 0);
  auto const refused = [&](std::string const& folder, std::string const& sentence) {
    auto const o = in.ballast("check " + folder + limits);
    CAPTURE(folder, o.err);
    CHECK(o.code == 2);
    CHECK(o.err.find(sentence) == 0);
    CHECK(std::count(o.err.begin(), o.err.end(), '\n') == 1);
  };
  for (std::string const folder : {"pack", "plan", "levels"}) {
    CAPTURE(folder);
    CHECK(in.ballast("check " + folder + limits).code == 0);
    for (auto const& file : names_in(in / folder)) {
      if (folder == "pack" && file == "report.html") continue;  // older versions did not write it
      fs::rename(in / (folder + "/" + file), in / "kept");
      refused(folder, folder + ": is not a complete plan: " + file + " is missing\n");
      fs::rename(in / "kept", in / (folder + "/" + file));
    }
    auto const json = read_whole(in / (folder + "/plan.json"));
    auto const with = [&](std::string const& from, std::string const& to, std::string const& sentence) {
      auto other = json;
      REQUIRE(json.find(from) != std::string::npos);
      in.file(folder + "/plan.json", other.replace(json.find(from), from.size(), to));
      refused(folder, sentence);
    };
    with("\"schema\": 2", "\"schema\": 3",
         folder +
             "/plan.json: is of format 3, and this ballast reads formats up to 2; read it with a newer ballast, or write the plan again");
    with("\"schema\": 2", "\"schema\": 0", folder + "/plan.json: is of format 0, and formats count from 1");
    with("\"schema\": 2", "\"schema\": \"2\"", folder + "/plan.json: says no version of its format (schema)");
    with("\"schema\": 2,", "", folder + "/plan.json: says no version of its format (schema)");
    with("\"schema\"", "\"samples\": 1, \"schema\"", folder + "/plan.json: the key samples occurs twice");
    with("{", "", folder + "/plan.json: not a JSON object");
    with("\"packs\": ", "\"packs\": 1", folder + ": is not a complete plan: offsets.npy has ");
    with("\"packs\": ", "\"packs\": -", folder + "/plan.json: packs is missing or not a whole number from 0");
    with("\"files_hash\": \"", "\"files_hash\": \"0", folder + ": its files are not of one plan: the arrays have hash ");
    with("\"hash\": \"", "\"hash\": \"x", folder + "/plan.json: hash is missing or not of 16 hexadecimal digits");
    if (folder != "pack")
      with("\"micro_batches\": 1", "\"micro_batches\": 2", folder + ": is not a complete plan: steps.npy is of shape (");
    in.file(folder + "/plan.json", json);
  }
  fs::copy_file(in / "plan/steps.npy", in / "pack/steps.npy");
  refused("pack", "pack: is not a complete plan: its plan.json does not know of steps.npy");
  fs::remove(in / "pack/steps.npy");
  fs::rename(in / "ten/members.npy", in / "pack/members.npy");  // of as many samples, in another order
  refused("pack", "pack: its files are not of one plan: the arrays have hash ");
  auto json = read_whole(in / "levels/plan.json");
  in.file("levels/plan.json", json.replace(json.find("\"schema\": 2"), 11, "\"schema\": 3"));
  auto const newer = in.ballast("plan f --gpus 2 --levels levels/plan.json");
  CHECK(newer.code == 2);
  CHECK(newer.err.find("levels/plan.json: is of format 3, ") == 0);
  CHECK(in.ballast("check plan --capacity 10").err.find("check takes the packing, then the lengths") == 0);
}

TEST_CASE("check reads folders of format 1, whose hash is that of the files", "[cli]") {
  scratch const in;
  in.file("f", "5\n6\n7\n8\n9\n");
  REQUIRE(in.ballast("plan f --capacity 20 --ranks 2 --out d").code == 0);
  auto json = nlohmann::json::parse(read_whole(in / "d/plan.json"));
  CHECK(nlohmann::json::parse(in.ballast("check d f --capacity 20 --json").out)["hash"] == json["hash"]);
  json["schema"] = 1;
  in.file("d/plan.json", json.dump());
  check_refused(in.ballast("check d f --capacity 20"), "d: its files are not of one plan");
  json["hash"] = json["files_hash"];
  json.erase("files_hash");
  in.file("d/plan.json", json.dump());
  auto const o = in.ballast("check d f --capacity 20 --json");
  REQUIRE(o.code == 0);
  CHECK(nlohmann::json::parse(o.out)["hash"].is_null());
}

TEST_CASE("check: each pack of a plan has one place in its steps", "[cli]") {
  scratch const in;
  in.file("f", as_text(std::vector<std::int64_t>(40, 10)));
  REQUIRE(in.ballast("plan f --capacity 20 --ranks 2 --out d").code == 0);
  auto const steps = read_whole(in / "d/steps.npy"), json = read_whole(in / "d/plan.json");
  auto const data = steps.size() - 20 * sizeof(std::int32_t);  // behind the header, 20 packs
  auto const other = static_cast<char>(steps[data] == 7 ? 8 : 7);
  for (auto const& [entry, sentence] :
       {std::pair{other, std::string("pack ") + std::to_string(int{other}) + " is in two places of steps.npy"},
        {char{20}, std::string("steps.npy names pack 20, and there are 20")},
        {char{-1}, "pack " + std::to_string(int{steps[data]}) + " is in no place of steps.npy"}}) {
    auto changed = steps;
    changed.replace(data, sizeof(std::int32_t), entry < 0 ? std::string(4, entry) : std::string{entry, 0, 0, 0});
    in.file("d/steps.npy", changed);
    in.file("d/plan.json", json);
    auto const err = in.ballast("check d f --capacity 20").err;
    std::string const before = "the arrays have hash ";
    REQUIRE(err.find(before) != std::string::npos);
    auto page = json;
    page.replace(page.find("\"files_hash\": \"") + 15, 16, err.substr(err.find(before) + before.size(), 16));
    in.file("d/plan.json", page);
    check_refused(in.ballast("check d f --capacity 20"), "d: is not a complete plan: " + sentence);
  }
}

TEST_CASE("check: wide entries of steps are not read as their low 32 bits", "[cli]") {
  scratch const in;
  in.file("f", as_text(std::vector<std::int64_t>(8, 10)));
  REQUIRE(in.ballast("plan f --capacity 20 --ranks 2 --out d").code == 0);
  auto const steps = read_whole(in / "d/steps.npy");
  auto const data = steps.size() - 4 * sizeof(std::int32_t);  // behind the header, 4 packs
  auto wide = steps.substr(0, data);
  wide.replace(wide.find("<i4"), 3, "<i8");
  for (std::size_t i = 0; i < 4; ++i) wide += steps.substr(data + 4 * i, 4) + std::string(4, '\0');
  in.file("d/steps.npy", wide);
  CHECK(in.ballast("check d f --capacity 20").code == 0);
  wide[data + 12] = 1;  // 2^32 and more
  in.file("d/steps.npy", wide);
  check_refused(in.ballast("check d f --capacity 20"), "d/steps.npy: entry 1 is 429496729");
  for (auto const& [low, high, text] : {std::tuple{'\xff', '\0', "4294967295"}, {'\xfe', '\xff', "-2"}}) {
    wide.replace(data + 8, 8, std::string{low, '\xff', '\xff', '\xff', high, high, high, high});
    in.file("d/steps.npy", wide);
    check_refused(in.ballast("check d f --capacity 20"), std::string("d/steps.npy: entry 1 is ") + text + ",");
  }
}

TEST_CASE("check knows what a plan drops or repeats, and refuses other lists", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(3);
  std::string rows;
  for (auto i = 0; i < 300; ++i) rows += std::to_string(draw() % 4) + "," + std::to_string(draw() % 90 + 10) + "\n";
  in.file("f", rows + "1,130\n");
  auto const shape = [](std::string const& rest) { return " --ranks 4 --micro-batches 7 --out d --left-over " + rest; };
  for (std::string const rest : {"drop", "repeat"}) {
    auto const key = rest == "drop" ? "dropped" : "repeated";
    for (std::string const limits : {" f --columns 2 --capacity 100 --oversize set-aside", " f --columns 2 --capacity 100 --oversize split",
                                     " f --columns 2 --capacity 200", " f --columns 1,2 --capacity 12,200"}) {
      if (sanitized && limits.find("--oversize") != std::string::npos) continue;
      auto const check = "check d" + limits;
      nlohmann::ordered_json json;
      std::vector<std::uint64_t> list;
      for (auto seed = 0; seed < 20 && list.size() < 2; ++seed) {  // the steps of some seeds are full
        REQUIRE(in.ballast("plan" + limits + shape(rest) + " --seed " + std::to_string(seed)).code == 0);
        json = nlohmann::ordered_json::parse(read_whole(in / "d/plan.json"));
        list = json.value(key, std::vector<std::uint64_t>());
      }
      REQUIRE(list.size() > 1);
      auto const o = in.ballast(check);
      CAPTURE(rest, limits, o.err);
      CHECK(o.code == 0);
      CHECK(o.out.find("Valid: no sample is missing or repeated but the " + std::to_string(list.size()) + " that plan.json lists as " +
                       key + ", and no pack exceeds ") == 0);
      auto const figures = nlohmann::json::parse(in.ballast(check + " --json").out);
      for (auto const* const same : {"samples", "capacity", "packs", "set_aside", key}) CHECK(figures[same] == json[same]);
      if (figures.contains("tokens")) CHECK(figures["tokens"] == json["tokens"]);

      auto const refused = [&](std::vector<std::uint64_t> const& other, std::string const& sentence, std::string const& under) {
        auto changed = json;
        changed.erase(key);
        changed[under] = other;
        in.file("d/plan.json", changed.dump());
        check_refused(in.ballast(check), sentence);
      };
      auto const invalid = std::string("d: not a valid plan: ");
      auto const first = std::to_string(list.front());
      refused({list.begin() + 1, list.end()},
              invalid + "sample " + first +
                  (rest == "drop" ? " is in no pack, and plan.json does not list it in dropped; check it with the lengths it was made of, "
                                  : " occurs 2 times, first in pack "),
              key);
      std::uint64_t present = 0;
      while (std::binary_search(list.begin(), list.end(), present)) ++present;
      auto longer = list;
      longer.insert(std::upper_bound(longer.begin(), longer.end(), present), present);
      refused(longer,
              invalid + "sample " + std::to_string(present) +
                  (rest == "drop" ? " is in pack " : " occurs 1 time, and plan.json lists it 1 time in repeated, which makes 2 in all; "),
              key);
      refused({list.rbegin(), list.rend()}, "d/plan.json: " + std::string(key) + "[1] = ", key);
      longer = list;
      longer.push_back(1000000);
      refused(longer, invalid + key + "[" + std::to_string(list.size()) + "] = 1000000 in plan.json must be below the number of samples, ",
              key);
      if (limits.find("set-aside") != std::string::npos) {
        longer.back() = 300;
        refused(longer, invalid + key + "[" + std::to_string(list.size()) + "] = 300 in plan.json is longer than the capacity", key);
      }
      refused(list, invalid + "sample ", rest == "drop" ? "repeated" : "dropped");
    }
    REQUIRE(in.ballast("plan f --columns 2 --capacity 200" + shape(rest) + " --stages 2 --model gpt2-xl").code == 0);
    CHECK(in.ballast("check d f --columns 2 --capacity 200").code == 0);
    check_refused(in.ballast("check d f --columns 2 --capacity 140"), "d: not a valid plan: pack ");
    check_refused(in.ballast("check d f --columns 2 --capacity 200 --max-items 1"), "d: not a valid plan: pack ");
  }
}

}  // namespace test_cli_folder
