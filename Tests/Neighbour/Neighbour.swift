// A module that an application could use beside this library, with common names that must not clash with the library's.

public struct Key: Hashable, Sendable {
  public let name: String
  public init(_ name: String) { self.name = name }
}

public struct Entry: Hashable, Sendable {
  public let key: Key
  public let text: String
  public init(_ key: Key, _ text: String) { (self.key, self.text) = (key, text) }
}

public struct EntrySummary: Hashable, Sendable { public init() {} }

public enum Change: Hashable, Sendable {
  case added(Entry)
  case removed(Key)
}

public protocol Codec: Sendable {
  func text(of value: Int) -> String
}

public struct DecimalCodec: Codec {
  public init() {}
  public func text(of value: Int) -> String { "\(value)" }
}

public enum Availability: Sendable { case online, offline }
public struct Capabilities: OptionSet, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
}
public struct Commit: Hashable, Sendable { public init() {} }
public enum Durability: Sendable { case memory, disk }
public struct Origin: Hashable, Sendable { public init() {} }
public enum Platform: Sendable { case linux, apple }
public typealias Revision = Int
public struct Selection: Hashable, Sendable { public init() {} }
public struct AppGroup: Sendable { public init() {} }
public struct WallClock: Sendable { public init() {} }
