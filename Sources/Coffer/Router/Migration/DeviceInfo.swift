import CofferFileSystem
public import Foundation

/// The device a program runs on, as far as it tells (document 4).
public struct DeviceInfo: Hashable, Codable, Sendable {
  /// What kind of machine it is, such as `MacBookPro18,1` or `ThinkPad X1`; empty where the system does not say.
  public var model: String
  /// The name of the system, such as `Debian GNU/Linux`.
  public var systemName: String
  /// The version of the system, such as `12.5`.
  public var systemVersion: String
  /// The instruction set, such as `x86_64`.
  public var architecture: String

  /// A device.
  public init(model: String, systemName: String, systemVersion: String, architecture: String) {
    self.model = model
    self.systemName = systemName
    self.systemVersion = systemVersion
    self.architecture = architecture
  }

  /// This device.
  public static var current: DeviceInfo {
    let version = ProcessInfo.processInfo.operatingSystemVersion
    let release = OSRelease.current
    var names = utsname()
    uname(&names)
    return DeviceInfo(
      model: OSRelease.line("/sys/devices/virtual/dmi/id/product_name") ?? "",
      systemName: release["NAME"] ?? text(&names.sysname),
      systemVersion: release["VERSION_ID"]
        ?? "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)",
      architecture: text(&names.machine))
  }

  /// The text of a field of `utsname`, which ends at its first zero byte.
  private static func text<T>(_ field: inout T) -> String {
    withUnsafeBytes(of: &field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}

/// What a system has and has left (document 4).
public struct SystemInfo: Hashable, Codable, Sendable {
  /// How many processors can be used.
  public var processorCount: Int
  /// The memory of the machine, in bytes.
  public var memoryBytes: UInt64
  /// How long the system runs, in seconds.
  public var uptime: TimeInterval
  /// What is free where the application keeps its data, in bytes; `nil` where the system does not say.
  public var freeDiskBytes: UInt64?
  /// The language and region, such as `de_CH`.
  public var locale: String

  /// A system.
  public init(
    processorCount: Int, memoryBytes: UInt64, uptime: TimeInterval, freeDiskBytes: UInt64?, locale: String
  ) {
    self.processorCount = processorCount
    self.memoryBytes = memoryBytes
    self.uptime = uptime
    self.freeDiskBytes = freeDiskBytes
    self.locale = locale
  }

  /// This system, now.
  public static var current: SystemInfo {
    let process = ProcessInfo.processInfo
    let home = try? SystemDirectories.current.url(for: .applicationSupport)
    let place = sequence(first: home?.path ?? "/") { $0 == "/" ? nil : PathParts($0).parent }
      .first { FileManager.default.fileExists(atPath: $0) }
    return SystemInfo(
      processorCount: process.activeProcessorCount, memoryBytes: process.physicalMemory, uptime: process.systemUptime,
      freeDiskBytes: place.flatMap { FileSystemKind($0)?.freeBytes }, locale: Locale.current.identifier)
  }
}

/// What `/etc/os-release` says of a Linux system (os-release(5)).
private enum OSRelease {
  static var current: [String: String] {
    let file = try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)
    var values: [String: String] = [:]
    for line in (file ?? "").split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, !line.hasPrefix("#") else { continue }
      values[String(parts[0])] = parts[1].trimmingCharacters(in: ["\"", "'"])
    }
    return values
  }

  /// The only line of a file of the system.
  static func line(_ path: String) -> String? {
    (try? String(contentsOfFile: path, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
