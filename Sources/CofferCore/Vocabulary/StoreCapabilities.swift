/// The guarantees of an engine. The conformance suite tests each of them, and that undeclared operations are refused.
public struct StoreCapabilities: Hashable, Sendable {
  /// A set of guarantees that an engine declares.
  public struct Features: OptionSet, Hashable, Sendable {
    /// The set as one bit for each guarantee. The bits are stable across releases.
    public let rawValue: UInt32
    /// Creates the set of the guarantees whose bits are set.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A batch of several operations is applied as a whole or not at all.
    public static let atomicBatches = Features(rawValue: 1 << 0)
    /// `require` operations are checked atomically with the batch.
    public static let preconditions = Features(rawValue: 1 << 1)
    /// `withSnapshot` reads one state of the store, unaffected by concurrent writes.
    public static let snapshots = Features(rawValue: 1 << 2)
    /// Keys can be listed in order, by prefix and page by page, and cleared by prefix.
    public static let listing = Features(rawValue: 1 << 3)
    /// Values survive closing the engine.
    public static let persistence = Features(rawValue: 1 << 4)
    /// A subscriber may start at an earlier revision.
    public static let replay = Features(rawValue: 1 << 5)
    /// Subscribers receive the commits of other processes.
    public static let foreignWriters = Features(rawValue: 1 << 6)
    /// `StoreDurability.full` survives power loss.
    public static let powerLossSafety = Features(rawValue: 1 << 7)
    /// Entries have the revision of the commit that wrote them.
    public static let revisions = Features(rawValue: 1 << 8)
    /// ``ValueAttributes`` are stored with the values.
    public static let attributes = Features(rawValue: 1 << 9)
    /// ``SystemRecord``s are stored beside the values.
    public static let systemRecords = Features(rawValue: 1 << 11)
    /// The store holds property lists, as `UserDefaults` does: a value of a Swift type that has a property list type is
    /// written with it. A decorator that changes the bytes of values must not declare it.
    public static let propertyLists = Features(rawValue: 1 << 13)
    /// `latestRevision` is never behind a commit that has returned in any process, so that a value cached at that
    /// revision is current. Without this guarantee, caches must validate an entry before each use.
    public static let immediateRevisions = Features(rawValue: 1 << 10)
    /// The store is made for secrets: it keeps values encrypted, or in a keyring, and nothing derived from a value, not
    /// even its size, is stored elsewhere. A router accepts declared secrets in such an engine.
    public static let secrecy = Features(rawValue: 1 << 12)
  }

  /// The features that the engine declares.
  public let features: Features
  /// The size of the largest value that the engine accepts, in bytes.
  public let maximumValueSize: Int

  /// Creates the declaration of an engine. Declare only what passes the conformance suite.
  public init(_ features: Features, maximumValueSize: Int) {
    self.features = features
    self.maximumValueSize = maximumValueSize
  }

  /// Returns whether the engine declares all the given features.
  public func contains(_ features: Features) -> Bool { self.features.contains(features) }
}
