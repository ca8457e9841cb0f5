// A program that stores values with the code that the source documents print, and not with Coffer.
// Usage: LegacyProgram adapter|service|defaults PATH [COUNT]

import Foundation

protocol StorageAdapter: Actor {
  func write(key: String, data: Data) async throws
}

// Document 1, "Storage Adapter Pattern".
actor FileStorageAdapter: StorageAdapter {
  private let directory: URL

  init(directory: URL) { self.directory = directory }

  func write(key: String, data: Data) async throws {
    try FileManager.default.createDirectory(
      at: directory,
      withIntermediateDirectories: true
    )
    let fileURL = directory.appendingPathComponent(key)
    try data.write(to: fileURL)
  }
}

/// The same values as entries of a property list.
actor DefaultsAdapter: StorageAdapter {
  private let file: URL
  private var entries: [String: Any] = ["name": "plain", "launches": 7, "isOn": true]

  init(file: URL) { self.file = file }

  func write(key: String, data: Data) async throws {
    entries[key] = data
    try PropertyListSerialization.data(fromPropertyList: entries, format: .binary, options: 0).write(to: file)
  }
}

// Document 1, "Adapter-Based Persistence".
actor AdapterBasedPersistence {
  private let adapter: any StorageAdapter
  private let encoder = JSONEncoder()

  init(adapter: any StorageAdapter) { self.adapter = adapter }

  func save<T: Codable>(_ value: T, for key: String) async throws {
    let data = try encoder.encode(value)
    try await adapter.write(key: key, data: data)
  }
}

/// The form in which the implementation of document 0 stores a value.
struct StoredObject: Codable {
  let value: Data
  let transactionID: UUID
}

struct Note: Codable {
  var title: String
  var count = 0
}

enum Theme: String, Codable { case system, dark }

let (kind, path) = (CommandLine.arguments[1], CommandLine.arguments[2])
let count = CommandLine.arguments.count > 3 ? Int(CommandLine.arguments[3]) ?? 0 : 0
let url = URL(fileURLWithPath: path)
if kind == "service" {
  let encoder = JSONEncoder()
  encoder.outputFormatting = .sortedKeys
  try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  for (key, value) in [("raw", Data([0, 255, 1])), ("note", try encoder.encode(Note(title: "é", count: 2)))] {
    try encoder.encode(StoredObject(value: value, transactionID: UUID())).write(
      to: url.appendingPathComponent(key), options: .atomic)
  }
} else {
  let adapter: any StorageAdapter = kind == "adapter" ? FileStorageAdapter(directory: url) : DefaultsAdapter(file: url)
  let persistence = AdapterBasedPersistence(adapter: adapter)
  if count > 0 {
    for number in 0..<count { try await persistence.save("text \(number)", for: "key-\(number)") }
  } else {
    try await persistence.save("a \"quoted\" / text\n", for: "text")
    try await persistence.save(Data([0, 255, 1]), for: "bytes")
    try await persistence.save(Theme.dark, for: "theme")
    try await persistence.save(Note(title: "é", count: 2), for: "note")
    try await persistence.save([1.5, -2], for: "list")
    try await persistence.save(true, for: "flag")
    try await persistence.save(Int?.none, for: "nothing")
    try await persistence.save(URL(fileURLWithPath: "/a b"), for: "url")
  }
}
