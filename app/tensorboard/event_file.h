// SPDX-License-Identifier: MIT
// The rows of metrics.jsonl once more, for TensorBoard: tensorboard/events.out.tfevents.* in a run
// directory. They are made from that file whenever a run begins or goes on, so rows behind the
// checkpoint are in neither; nothing reads them back, and losing them loses nothing.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace tapemeasure {

class EventFile {
 public:
  /// Writes the rows that are in `metrics` as a new file in `folder`, then removes what other event
  /// files are there. Throws CheckpointError where it cannot.
  EventFile(const std::string& folder, const std::string& metrics);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// A row of metrics.jsonl: each number but the step becomes a scalar of its name. False when it
  /// could not be written.
  bool add(const std::string& row);
  /// Hands over what is buffered, if that was not done for a few seconds. False when it cannot.
  bool flush_sometimes();

 private:
  bool write(const std::string& event);

  struct Encoder;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  double flushed_ = 0;
};

/// CRC-32C (Castagnoli), as the records of TensorBoard's files carry it, rotated and with a
/// constant added.
uint32_t masked_crc32c(const char* data, size_t size);

}  // namespace tapemeasure
