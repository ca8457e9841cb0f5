import CofferCore
import Foundation

/// The distinction between an envelope of a newer version and one whose version, algorithm or flags were changed.
enum EnvelopeRepair {
  static var damaged: StorageError {
    StorageError(
      .damaged, "The encrypted value is damaged: its header was changed.",
      advice: "Write the key again, or restore it from a backup. Other keys are not affected.")
  }

  /// Returns whether an envelope that this version cannot read opens with one field of its header restored. It is
  /// damaged then, and the program need not be updated. Errors of `key` mean that this cannot be known.
  static func isDamaged(
    _ envelope: Data, context: EnvelopeContext, key: (KeyID) throws -> DataKey
  ) -> Bool {
    let fields: [(offset: Int, values: [UInt8])] = [
      (5, [EnvelopeHeader.newest]), (6, AEAD.Algorithm.allCases.map(\.rawValue)), (7, [0, 1]),
    ]
    for (offset, values) in fields {
      for value in values {
        var restored = Data(envelope)
        restored[offset] = value
        guard let header = try? EnvelopeHeader(of: restored), let key = try? key(header.keyID) else { continue }
        if (try? Envelope.open(restored, header, context: context, key: key)) != nil { return true }
      }
    }
    return false
  }
}
