import Foundation

// Writes what older programs have left: `LegacyWriter FORM TARGET`, for tests that open it with Coffer.

let arguments = CommandLine.arguments
guard arguments.count == 3 else { exit(2) }
let (form, target) = (arguments[1], arguments[2])

func fill(_ adapter: any StorageAdapter) async throws {
  let persistence = AdapterBasedPersistence(adapter: adapter)
  try await persistence.save("John", for: "userName")
  try await persistence.save("dark", for: "theme")
  try await persistence.save(Data("secret bytes".utf8), for: "token")
}

switch form {
case "files": try await fill(FileStorageAdapter(directory: URL(fileURLWithPath: target)))
case "preferences": try await fill(UserDefaultsStorageAdapter(suite: target))
case "objects":
  let adapter = FileStorageAdapter(directory: URL(fileURLWithPath: target))
  for key in ["user_profile", "theme"] { try await adapter.write(key: key, data: StoredObject.encoded(key)) }
case "preference-objects":
  let defaults = UserDefaults(suiteName: target)
  defaults?.set(try StoredObject.encoded("dark"), forKey: "theme")
  defaults?.synchronize()
case "plain-preferences":
  let defaults = UserDefaults(suiteName: target)
  defaults?.set("dark", forKey: "theme")
  defaults?.set(Data("[1]".utf8), forKey: "numbers")
  defaults?.synchronize()
default: exit(2)
}
