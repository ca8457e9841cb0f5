// The examples of the callback specification, with the declarations that they assume. `DocumentTests` compares them
// with the document. They are verbatim except for white space, the "handle error" comments, and one operator: see
// `retrieveExample`. The examples are written for Swift 5 mode, so this target uses it.
import CofferCallbacks
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
/// `(value = nil) ⊻ (error = nil)`, and would always fail. The postcondition holds.
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

/// The condition as printed in the specification.
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
