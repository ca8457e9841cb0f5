import CofferFileSystem
public import Foundation

/// The properties of the device that a program runs on.
public struct DeviceInfo: Hashable, Codable, Sendable {
  /// The model of the machine, such as `MacBookPro18,1` or `ThinkPad X1`; empty if unknown.
  public var model: String
  /// The name of the operating system, such as `Debian GNU/Linux`.
  public var systemName: String
  /// The version of the operating system, such as `12.5`.
  public var systemVersion: String
  /// The instruction set, such as `x86_64`.
  public var architecture: String

  /// Creates a description of a device.
  public init(model: String, systemName: String, systemVersion: String, architecture: String) {
    self.model = model
    self.systemName = systemName
    self.systemVersion = systemVersion
    self.architecture = architecture
  }

  /// The current device.
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

  /// Returns the text of a field of `utsname`, up to its first zero byte.
  private static func text<T>(_ field: inout T) -> String {
    withUnsafeBytes(of: &field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}

/// The resources and settings of the operating system.
public struct SystemInfo: Hashable, Codable, Sendable {
  /// The number of active processors.
  public var processorCount: Int
  /// The physical memory, in bytes.
  public var memoryBytes: UInt64
  /// The time since the system was started, in seconds.
  public var uptime: TimeInterval
  /// The free space on the file system of the application support directory, in bytes; `nil` if unknown.
  public var freeDiskBytes: UInt64?
  /// The identifier of the current locale, such as `de_CH`.
  public var locale: String

  /// Creates a description of a system.
  public init(
    processorCount: Int, memoryBytes: UInt64, uptime: TimeInterval, freeDiskBytes: UInt64?, locale: String
  ) {
    self.processorCount = processorCount
    self.memoryBytes = memoryBytes
    self.uptime = uptime
    self.freeDiskBytes = freeDiskBytes
    self.locale = locale
  }

  /// The current state of this system.
  public static var current: SystemInfo {
    let process = ProcessInfo.processInfo
    let store = try? SystemDirectories.current.url(for: .applicationSupport)
    let directory = sequence(first: store?.path ?? "/") { $0 == "/" ? nil : PathParts($0).parent }
      .first { FileManager.default.fileExists(atPath: $0) }
    return SystemInfo(
      processorCount: process.activeProcessorCount, memoryBytes: process.physicalMemory, uptime: process.systemUptime,
      freeDiskBytes: directory.flatMap { FileSystemKind($0)?.freeBytes }, locale: Locale.current.identifier)
  }
}

/// The contents of `/etc/os-release` (os-release(5)).
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

  /// Returns the trimmed contents of a system file with one line, or `nil` if it cannot be read.
  static func line(_ path: String) -> String? {
    (try? String(contentsOfFile: path, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
