import CofferCore
import Foundation

/// Checks that a store of secrets reports nothing that depends on a value.
enum SecrecyChecks {
  static let all = [sizes, inSnapshots, pages]

  private static let sizes = Check("with secrecy, a summary has no size", requires: .secrecy) { bench in
    try await bench.commit(.put(KeyName("k"), bytes("secret")))
    let summary = try await bench.engine.summary(of: KeyName("k"))
    try bench.expect("the key of the summary", summary?.key, equals: KeyName("k"))
    try bench.expect("its size", summary?.size, equals: nil)
  }

  private static let inSnapshots = Check(
    "with secrecy, a summary in a snapshot has no size", requires: [.secrecy, .snapshots]
  ) { bench in
    try await bench.commit(.put(KeyName("k"), bytes("secret")))
    let summary = try await bench.engine.withSnapshot { try await $0.summary(of: KeyName("k")) }
    try bench.expect("the key of the summary", summary?.key, equals: KeyName("k"))
    try bench.expect("its size", summary?.size, equals: nil)
  }

  private static let pages = Check(
    "with secrecy, a listing has no sizes", requires: [.secrecy, .snapshots, .listing]
  ) { bench in
    try await bench.commit(.put(KeyName("k"), bytes("secret")))
    let listed = try await bench.engine.withSnapshot {
      try await $0.summaries(prefix: nil, after: nil, limit: 10)
    }
    try bench.expect("the listed keys", listed.map(\.key), equals: [KeyName("k")])
    try bench.expect("their sizes", listed.map(\.size), equals: [nil])
  }
}
