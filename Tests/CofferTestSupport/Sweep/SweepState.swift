package import Foundation

/// A state of a store: its files and the commits that were acknowledged until then.
package struct SweepState: Codable, Sendable {
  /// A key with its acknowledged versions, oldest first; `nil` for a removal.
  package struct History: Codable, Sendable {
    package let key: String
    package var versions: [Int?] = []
    /// The expiry of the present value in milliseconds since 1970; `nil` if it does not expire.
    package let expires: Int64?
    /// The version that was stored last with an expiry that had passed, if any.
    package var expired: Int?

    package init(_ key: String, expires: Int64?) { (self.key, self.expires) = (key, expires) }
  }

  package let name: String
  /// The directory of the files in the template.
  package let files: String
  /// Whether the store is open while it is damaged.
  package let isOpen: Bool
  /// The revision of the last acknowledged commit.
  package let revision: UInt64
  package let histories: [History]
  /// The keys whose last version was committed by a writer that was killed before it acknowledged the commit. That
  /// version may be lost, but only together with the log.
  package let unanswered: [String]

  package init(
    _ name: String, files: String, isOpen: Bool, revision: UInt64, histories: [History], unanswered: [String]
  ) {
    self.name = name
    self.files = files
    self.isOpen = isOpen
    self.revision = revision
    self.histories = histories
    self.unanswered = unanswered
  }

  /// Keys that are never written.
  package static let neverWritten = ["never", "zz/never", "settings/never"]
}

/// The files of a store in each of its states, below one directory.
package struct SweepTemplate: Sendable {
  package let root: String
  package let states: [SweepState]

  private static let fileName = "states.json"

  /// Reads a template that ``write()`` has written.
  package init(at root: String) throws {
    self.root = root
    let file = URL(fileURLWithPath: root + "/" + Self.fileName)
    states = try JSONDecoder().decode([SweepState].self, from: Data(contentsOf: file))
  }

  package init(at root: String, states: [SweepState]) { (self.root, self.states) = (root, states) }

  package func write() throws {
    try JSONEncoder().encode(states).write(to: URL(fileURLWithPath: root + "/" + Self.fileName))
  }

  package func directory(of state: SweepState) -> String { root + "/" + state.files }
}

/// The values that a sweep stores, each determined by its key and version.
package enum SweepValue {
  private static let sizes = [0, 1, 7, 40, 300, 1_000, 5_000]

  package static func bytes(_ key: String, _ version: Int, largest: Int) -> Data {
    let name = key.utf8.reduce(UInt64(version) &+ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    var generator = SeededGenerator(seed: name)
    var size = sizes[Int.random(in: 0..<sizes.count, using: &generator)]
    // Some values span several database pages; few, since the store is copied for each injury.
    if Int.random(in: 0..<12, using: &generator) == 0 { size = 20_000 }
    size = min(size, largest)
    // Half of the values are text, which text stores keep readable.
    let range: ClosedRange<UInt8> = Bool.random(using: &generator) ? 0x61...0x7A : 0...255
    return Data((0..<size).map { _ in UInt8.random(in: range, using: &generator) })
  }
}
