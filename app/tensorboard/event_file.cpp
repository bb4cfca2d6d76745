// SPDX-License-Identifier: MIT
// A file is a sequence of records: u64 length, its masked CRC, an Event, its masked CRC, all low
// byte first.
#include "app/tensorboard/event_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/metrics.h"
#include "core/error.h"
#include "event.pb.h"

namespace tapemeasure {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPrefix = "events.out.tfevents.";

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0u);
    table[byte] = crc;
  }
  return table;
}

template <class T>
void append_number(std::string& bytes, T value) {
  for (size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The time is in the name, so that TensorBoard takes a later file for what goes on.
std::string fresh_name() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return fmt::format("{}{}.{}.{}", kPrefix, static_cast<int64_t>(now()), host, getpid());
}

void remove_others(const std::string& folder, const std::string& kept) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name != kept) fs::remove(entry.path(), error);
  }
}

}  // namespace

uint32_t masked_crc32c(const char* data, size_t size) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < size; ++i) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(data[i])) & 0xff];
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/// Kept from row to row, with their memory.
struct EventFile::Encoder {
  tensorboard::Event event;
  std::string event_bytes, record;
};

EventFile::EventFile(const std::string& folder, const std::string& metrics)
    : encoder_(std::make_unique<Encoder>()), file_(nullptr, std::fclose) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string name = fresh_name(), path = folder + "/" + name;
  file_.reset(std::fopen(path.c_str(), "wb"));
  check<CheckpointError>(file_ != nullptr, "{}: cannot be written: {}", path, std::strerror(errno));
  encoder_->event.set_wall_time(now());
  encoder_->event.set_file_version("brain.Event:2");
  bool written = write(encoder_->event.SerializeAsString());
  std::ifstream rows(metrics);
  for (std::string row; written && std::getline(rows, row);) written = add(row);
  check<CheckpointError>(written && std::fflush(file_.get()) == 0, "{}: cannot be written: {}",
                         path, std::strerror(errno));
  remove_others(folder, name);
}

EventFile::~EventFile() = default;

bool EventFile::write(const std::string& event) {
  std::string& record = encoder_->record;
  record.clear();
  append_number(record, static_cast<uint64_t>(event.size()));
  append_number(record, masked_crc32c(record.data(), record.size()));
  record += event;
  append_number(record, masked_crc32c(event.data(), event.size()));
  return std::fwrite(record.data(), 1, record.size(), file_.get()) == record.size();
}

bool EventFile::add(const std::string& row) {
  const auto json = parse_row(row);
  if (json.is_null()) return true;
  tensorboard::Event& event = encoder_->event;
  event.Clear();
  event.set_wall_time(now());
  event.set_step(json["step"].get<int64_t>());
  for (const auto& [name, value] : json.items()) {
    // null stands for a number that is not finite.
    if (name == "step" || !(value.is_number() || value.is_null())) continue;
    tensorboard::Summary::Value& scalar = *event.mutable_summary()->add_value();
    scalar.set_tag(name);
    scalar.set_simple_value(value.is_null() ? std::nanf("") : value.get<float>());
  }
  event.SerializeToString(&encoder_->event_bytes);
  return write(encoder_->event_bytes);
}

bool EventFile::flush_sometimes() {
  constexpr double kSeconds = 2;
  if (now() - flushed_ < kSeconds) return true;
  flushed_ = now();
  return std::fflush(file_.get()) == 0;
}

}  // namespace tapemeasure
