// SPDX-License-Identifier: MIT
#include "core/file/checksum.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include <array>
#include <new>

#include "core/error.h"

namespace tapemeasure {

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  check<Error>(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1,
               "SHA-256 is not available in this OpenSSL");
}
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest;
  EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr);
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

struct Xxh3::State {
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state{XXH3_createState(),
                                                                 XXH3_freeState};
  Bits bits = Bits::k64;
};

Xxh3::Xxh3(Bits bits) : state_(std::make_unique<State>()) {
  if (!state_->state) throw std::bad_alloc();
  state_->bits = bits;
  if (bits == Bits::k64) {
    XXH3_64bits_reset(state_->state.get());
  } else {
    XXH3_128bits_reset(state_->state.get());
  }
}
Xxh3::Xxh3(Xxh3&&) noexcept = default;
Xxh3::~Xxh3() = default;

void Xxh3::add(std::span<const std::byte> bytes) {
  if (state_->bits == Bits::k64) {
    XXH3_64bits_update(state_->state.get(), bytes.data(), bytes.size());
  } else {
    XXH3_128bits_update(state_->state.get(), bytes.data(), bytes.size());
  }
}

std::string Xxh3::hex() const {
  if (state_->bits == Bits::k64) {
    return fmt::format("{:016x}", XXH3_64bits_digest(state_->state.get()));
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

uint64_t xxh3_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace tapemeasure
