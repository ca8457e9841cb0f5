import Foundation

#if canImport(CofferCryptoBench)
  import CofferCryptoBench

  /// Measures OpenSSL alone, by which limits for work of the processor are scaled.
  func measureProcessor(_ bench: inout Bench) async throws {
    let sealing = try SealingBenchmark("AES-256-GCM", size: 200)
    try await bench.measure(
      "processor", count: 20_000,
      [
        Variant(subject: "openssl") { first, count in
          await grouped(first, count, by: 100) { _ in precondition(sealing.sealRaw()) }
        }
      ])
    if let row = bench.rows.last { bench.noteProcessor(row) }
  }

  /// Measures envelopes of 200 B and 1 MiB, beside the same cipher of OpenSSL alone.
  func measureCrypto(_ bench: inout Bench) async throws {
    for algorithm in ["AES-256-GCM", "ChaCha20-Poly1305"] {
      let name = algorithm == "AES-256-GCM" ? "aes" : "chacha"
      // A cipher that needs no instructions of its own is slower on this processor: it has no limit of time.
      let maximum = name == "aes" ? 1.2 : nil
      for (size, text, count, group) in [(200, "200", 20_000, 100), (1 << 20, "1mib", 100, 10)] {
        let sealing = try SealingBenchmark(algorithm, size: size)
        let limit =
          size < 1_024
          ? Limit(subject: "openssl", maximumMicroseconds: maximum, isProcessorTime: true)
          : Limit(subject: "openssl", maximumRatio: 1.15)
        try await bench.measure(
          "crypto.\(name).seal.\(text)", count: count,
          [
            Variant(subject: "openssl") { first, count in
              await grouped(first, count, by: group) { _ in precondition(sealing.sealRaw()) }
            },
            Variant(subject: "coffer.envelope", limit: limit) { first, count in
              try await grouped(first, count, by: group) { _ in
                let count = try sealing.seal()
                precondition(count > size)
              }
            },
          ])
        try await bench.measure(
          "crypto.\(name).open.\(text)", count: count,
          [
            Variant(subject: "openssl") { first, count in
              await grouped(first, count, by: group) { _ in precondition(sealing.openRaw()) }
            },
            Variant(subject: "coffer.envelope", limit: limit) { first, count in
              try await grouped(first, count, by: group) { _ in
                let count = try sealing.open()
                precondition(count == size)
              }
            },
          ])
      }
    }
  }
#else
  func measureProcessor(_ bench: inout Bench) async throws {}

  func measureCrypto(_ bench: inout Bench) async throws {
    print("crypto.*: not measured; ./run bench builds what it needs")
  }
#endif
