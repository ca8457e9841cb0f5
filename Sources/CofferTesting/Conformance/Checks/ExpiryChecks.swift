import CofferCore
import Foundation

/// Checks that an expired value is absent from every read and precondition, although it is still stored.
enum ExpiryChecks {
  static let all = [reads, inSnapshots, listings, preconditions, replacement, surviving]

  private static let future = ValueAttributes(expires: Date(timeIntervalSince1970: 32_000_000_000))

  /// An expiry that has passed by the clock of the engine, but too recently for a sweep.
  private static func past(_ bench: Bench) throws -> ValueAttributes {
    ValueAttributes(expires: try bench.engine.clock.now() - 60)
  }

  private static let reads = Check("an expired value is absent", requires: .attributes) { bench in
    let (gone, kept) = (KeyName("gone"), KeyName("kept"))
    try await bench.commit(.put(gone, bytes("1"), past(bench)))
    try await bench.commit(.put(kept, bytes("2"), future))
    try bench.expect("entry(_:)", try await bench.engine.entry(gone)?.value, equals: nil)
    let several = try await bench.engine.entries([gone, kept])
    try bench.expect("entries(_:)", several.map { $0?.value }, equals: [nil, bytes("2")])
    try bench.expect("the expiry", several[1]?.attributes.expires, equals: future.expires)
    try bench.expect("summary(of:)", try await bench.engine.summary(of: gone)?.key, equals: nil)
    try bench.expect("contains(_:)", try await bench.engine.contains(gone), equals: false)
    try bench.expect("contains(_:)", try await bench.engine.contains(kept), equals: true)
  }

  private static let inSnapshots = Check(
    "an expired value is absent from a snapshot", requires: [.attributes, .snapshots]
  ) { bench in
    let (gone, kept) = (KeyName("gone"), KeyName("kept"))
    try await bench.commit(.put(gone, bytes("1"), past(bench)))
    try await bench.commit(.put(kept, bytes("2"), future))
    let (entries, expired, present) = try await bench.engine.withSnapshot { snapshot in
      (
        try await snapshot.entries([gone, kept]), try await snapshot.summary(of: gone),
        try await snapshot.summary(of: kept)
      )
    }
    try bench.expect("entries(_:)", entries.map { $0?.value }, equals: [nil, bytes("2")])
    try bench.expect("summary(of:)", expired?.key, equals: nil)
    try bench.expect("the expiry in a summary", present?.attributes.expires, equals: future.expires)
  }

  private static let listings = Check(
    "listings omit expired values, and do not end with a page of them", requires: [.attributes, .listing, .snapshots]
  ) { bench in
    let past = try past(bench)
    let keys = try (0..<12).map { try KeyName("k/\($0 + 10)") }
    for key in keys { try await bench.commit(.put(key, bytes("v"), key == keys[11] ? future : past)) }
    let (pages, summaries) = try await bench.engine.withSnapshot { snapshot in
      let prefix = KeyName("k/")
      return (
        try await snapshot.page(prefix: prefix, after: nil, limit: 3),
        try await snapshot.summaries(prefix: prefix, after: keys[0], limit: 3)
      )
    }
    try bench.expect("the keys of a page", pages.map(\.key), equals: [keys[11]])
    try bench.expect("the keys of a listing", summaries.map(\.key), equals: [keys[11]])
    let all = try await bench.engine.withSnapshot { snapshot in
      var found: [KeyName] = []
      try await snapshot.forEach(pageSize: 2) { found.append($0.key) }
      return found
    }
    try bench.expect("the keys of all pages", all, equals: [keys[11]])
  }

  private static let preconditions = Check(
    "for a precondition an expired value is absent", requires: [.attributes, .preconditions, .revisions]
  ) { bench in
    let key = KeyName("k")
    let expired = try await bench.commit(.put(key, bytes("1"), past(bench))).revision
    try await bench.expect(.preconditionFailed, from: "require at the revision of an expired value") {
      try await bench.commit(.require(key, expired), .put(key, bytes("2")))
    }
    let kept = try await bench.commit(.require(key, nil), .put(key, bytes("3"), future)).revision
    try await bench.expect(.preconditionFailed, from: "require absent for a value that has not expired") {
      try await bench.commit(.require(key, nil), .put(key, bytes("4")))
    }
    try await bench.commit(.require(key, kept), .put(key, bytes("5")))
    try await bench.expectValue(key, bytes("5"), "after it was put at its revision")
  }

  private static let replacement = Check("a put replaces the expiry", requires: .attributes) { bench in
    let key = KeyName("k")
    try await bench.commit(.put(key, bytes("1"), past(bench)))
    try await bench.commit(.put(key, bytes("2")))
    try await bench.expectValue(key, bytes("2"), "after an expired value was replaced")
    try await bench.commit(.put(key, bytes("3"), past(bench)))
    try await bench.expectValue(key, nil, "after it was replaced by an expired one")
    try await bench.commit(.delete(key))
    try await bench.expectValue(key, nil, "after an expired value was removed")
  }

  private static let surviving = Check("expiries survive closing", requires: [.attributes, .persistence]) { bench in
    let (gone, kept) = (KeyName("gone"), KeyName("kept"))
    try await bench.commit(.put(gone, bytes("1"), past(bench)), durability: .full)
    try await bench.commit(.put(kept, bytes("2"), future), durability: .full)
    let again = try await bench.reopen()
    try bench.expect("the expired value", try await again.entry(gone)?.value, equals: nil)
    try bench.expect("the expiry", try await again.entry(kept)?.attributes.expires, equals: future.expires)
  }
}
