// The examples of document 3, with the surroundings that they take for granted. `DocumentTests` compares them with the
// document. They are verbatim but for white space, for the comments that say "handle error", and for one operator: see
// `retrieveExample`. The document's reader lives in Swift 5 mode, so this target does too.
import Coffer
import Foundation

// MARK: - store(value:for:finished:)

func storeExample(storage: any KeyValueStorage) {
  storage.store(key: "name", value: Data("John Doe".utf8)) {
    optionalError in

    if let error = optionalError {
      // handle error
    }
  }
}

// MARK: - retrieve(for:finished:)

/// The printed precondition has `==`, which contradicts the postcondition printed below it,
/// `(value = nil) ⊻ (error = nil)`, and would end the program each time. The postcondition holds.
func retrieveExample(storage: any KeyValueStorage) {
  storage.retrieve(for: "name") {
    optionalValue, optionalError in

    precondition((optionalValue != nil) != (optionalError != nil))

    guard let value = optionalValue else {
      let error = optionalError!
      // handle error
      return
    }

    // Success, do something with `value`
  }
}

/// The condition as it is printed.
func printedPrecondition(_ optionalValue: Bytes?, _ optionalError: Error?) -> Bool {
  (optionalValue != nil) == (optionalError != nil)
}

// MARK: - remove(for:finished:)

func removeExample(storage: any KeyValueStorage) {
  storage.remove(key: "name") {
    optionalError in

    if let error = optionalError {
      // handle error
    }
  }
}
