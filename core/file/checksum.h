// SPDX-License-Identifier: MIT
// Checksums of bytes that come piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tapemeasure {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::span<const std::byte> bytes);
  /// Of all bytes added, 64 hexadecimal digits. REQUIRES: called once, after the last add.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// XXH3 of 64 or 128 bits.
class Xxh3 {
 public:
  enum class Bits { k64, k128 };
  explicit Xxh3(Bits bits);
  Xxh3(Xxh3&&) noexcept;
  ~Xxh3();
  void add(std::span<const std::byte> bytes);
  /// Of all bytes added so far, 16 or 32 hexadecimal digits.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// XXH3-64 as a number, for tables of many.
uint64_t xxh3_of(std::span<const std::byte> bytes);

}  // namespace tapemeasure
