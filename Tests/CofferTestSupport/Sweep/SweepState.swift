package import Foundation

/// A store's files at one moment, and what was acknowledged until then.
package struct SweepState: Codable, Sendable {
  /// A key and each of its versions that was acknowledged, oldest first; `nil` where it was removed.
  package struct History: Codable, Sendable {
    package let key: String
    package var versions: [Int?] = []

    package init(_ key: String) { self.key = key }
  }

  package let name: String
  /// The directory of its files in the template.
  package let files: String
  /// Whether the store is open while it is injured.
  package let isOpen: Bool
  /// Of the last acknowledged commit.
  package let revision: UInt64
  package let histories: [History]
  /// Keys whose last version was committed, and its writer killed before it could say so: it may be lost with the log,
  /// and only with that.
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

  /// Keys that nobody has ever written.
  package static let neverWritten = ["never", "zz/never", "settings/never"]
}

/// The store's files in each of its states, below one directory.
package struct SweepTemplate: Sendable {
  package let root: String
  package let states: [SweepState]

  private static let fileName = "states.json"

  /// Reads what ``write()`` wrote.
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

/// The values that are stored: each is known by its key and its version.
package enum SweepValue {
  private static let sizes = [0, 1, 7, 40, 300, 1_000, 5_000]

  package static func bytes(_ key: String, _ version: Int, largest: Int) -> Data {
    let name = key.utf8.reduce(UInt64(version) &+ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    var generator = SeededGenerator(seed: name)
    var size = sizes[Int.random(in: 0..<sizes.count, using: &generator)]
    // Over several pages of a database; few, since a store is copied for each injury.
    if Int.random(in: 0..<12, using: &generator) == 0 { size = 20_000 }
    size = min(size, largest)
    // Half of them are text, which other programs show as it is.
    let range: ClosedRange<UInt8> = Bool.random(using: &generator) ? 0x61...0x7A : 0...255
    return Data((0..<size).map { _ in UInt8.random(in: range, using: &generator) })
  }
}
