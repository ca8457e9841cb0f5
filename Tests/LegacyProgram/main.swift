import Foundation

// Stores what older programs have left, without Coffer: `LegacyProgram FORM TARGET [COUNT]`.

/// The values as entries of a property list file, beside entries of other types.
actor PropertyListAdapter: StorageAdapter {
  private let file: URL
  private var entries: [String: Any] = ["name": "plain", "launches": 7, "isOn": true]

  init(file: URL) { self.file = file }

  func read(key: String) async throws -> Data? { entries[key] as? Data }

  func write(key: String, data: Data) async throws {
    entries[key] = data
    try PropertyListSerialization.data(fromPropertyList: entries, format: .binary, options: 0).write(to: file)
  }
}

struct Note: Codable {
  var title: String
  var count = 0
}

enum Theme: String, Codable { case system, dark }

/// Stores three strings.
func fill(_ adapter: any StorageAdapter) async throws {
  let persistence = AdapterBasedPersistence(adapter: adapter)
  try await persistence.save("John", for: "userName")
  try await persistence.save("dark", for: "theme")
  try await persistence.save(Data("secret bytes".utf8), for: "token")
}

/// Stores a value of each kind, or `count` strings.
func fillVariously(_ adapter: any StorageAdapter, _ count: Int) async throws {
  let persistence = AdapterBasedPersistence(adapter: adapter)
  for number in 0..<count { try await persistence.save("text \(number)", for: "key-\(number)") }
  guard count == 0 else { return }
  try await persistence.save("a \"quoted\" / text\n", for: "text")
  try await persistence.save(Data([0, 255, 1]), for: "bytes")
  try await persistence.save(Theme.dark, for: "theme")
  try await persistence.save(Note(title: "é", count: 2), for: "note")
  try await persistence.save([1.5, -2], for: "list")
  try await persistence.save(true, for: "flag")
  try await persistence.save(Int?.none, for: "nothing")
  try await persistence.save(URL(fileURLWithPath: "/a b"), for: "url")
}

let arguments = CommandLine.arguments
guard arguments.count >= 3 else { exit(2) }
let (form, target) = (arguments[1], arguments[2])
let count = arguments.count > 3 ? Int(arguments[3]) ?? 0 : 0
let files = FileStorageAdapter(directory: URL(fileURLWithPath: target))

switch form {
case "files": try await fill(files)
case "various-files": try await fillVariously(files, count)
case "various-entries": try await fillVariously(PropertyListAdapter(file: URL(fileURLWithPath: target)), count)
case "preferences": try await fill(UserDefaultsStorageAdapter(suite: target))
case "keychain": try await fill(KeychainStorageAdapter(service: target))
case "various-secrets": try await fillVariously(KeychainStorageAdapter(service: target), count)
case "keychain-objects":
  for key in ["user_profile", "theme"] {
    let object = try StoredObject.stored(try JSONEncoder().encode(key))
    try Keyring.store(try JSONEncoder().encode(object), label: key, ["service": target, "account": key])
  }
case "passwords":
  try Keyring.store(Data("s3cret".utf8), label: "x", ["service": target, "account": "token"])
  try Keyring.store(Data(#"{"expires":1}"#.utf8), label: "x", ["service": target, "account": "object"])
case "user-names":
  try Keyring.store(Data("s3cret".utf8), label: "x", ["service": target, "username": "alice", "application": "mail"])
case "objects":
  for key in ["user_profile", "theme"] {
    try await files.write(key: key, data: StoredObject.stored(try JSONEncoder().encode(key)))
  }
case "various-objects":
  try await files.write(key: "raw", data: StoredObject.stored(Data([0, 255, 1])))
  let note = try JSONEncoder().encode(Note(title: "é", count: 2))
  try await files.write(key: "note", data: StoredObject.stored(note))
case "preference-objects":
  let defaults = UserDefaults(suiteName: target)
  defaults?.set(try StoredObject.stored(try JSONEncoder().encode("dark")), forKey: "theme")
  defaults?.synchronize()
case "plain-preferences":
  let defaults = UserDefaults(suiteName: target)
  defaults?.set("dark", forKey: "theme")
  defaults?.set(Data("[1]".utf8), forKey: "numbers")
  defaults?.synchronize()
default: exit(2)
}
