import Coffer
import CofferEncryption
import CofferTerminal

/// How a store is encrypted, as far as it is known: more if its key ring was opened.
struct EncryptionFacts {
  let stored: StoredKeyRingFacts
  /// The opened key ring; `nil` without its key.
  let ring: KeyRing?
  /// Whether the store was compared with its anchor.
  private let isCompared: Bool

  init(stored: StoredKeyRingFacts, ring: KeyRing?) {
    self.stored = stored
    self.ring = ring
    isCompared = false
  }

  /// Returns `nil` for a store that encrypts nothing.
  init?(_ engine: any StorageEngine) async throws {
    let encrypted = engine.as(EncryptedEngine.self)
    ring = encrypted?.keyRing
    isCompared = encrypted?.comparesAnchor == true
    if let keyless = engine.as(KeylessEngine.self) {
      stored = keyless.ring
    } else {
      guard ring != nil, let stored = try await StoredKeyRingFacts(engine) else { return nil }
      self.stored = stored
    }
  }

  /// A sentence without a full stop: `all values, under a passphrase, AES-256-GCM, names hidden`.
  var sentence: String {
    var parts = [stored.coversAll ? "all values are encrypted" : "some values are encrypted"]
    parts.append("under \(stored.keyInWords)")
    guard let ring else { return parts.joined(separator: ", ") + "; no key was given" }
    parts += [ring.settings.algorithm.rawValue, ring.settings.hidesNames ? "names hidden" : "names in plain"]
    if ring.settings.padsValues { parts.append("sizes padded") }
    return parts.joined(separator: ", ")
  }

  var json: JSON {
    .object([
      ("coverage", .text(stored.coversAll ? "all" : "declared")),
      ("key", .text(stored.needsPassphrase ? "passphrase" : "material")), ("opened", .flag(ring != nil)),
      ("cipher", .optional(ring?.settings.algorithm.rawValue)),
      ("namesHidden", ring.map { .flag($0.settings.hidesNames) } ?? .none),
      ("padded", ring.map { .flag($0.settings.padsValues) } ?? .none), ("anchor", .optional(anchor?.rawValue)),
    ])
  }

  /// What is known of the anchor; `nil` if the store has none.
  var anchor: AnchorState? { AnchorState(isKnown: stored.hasAnchor, isCompared: isCompared) }
}

/// Whether a store that has an anchor was compared with it; the raw value is the word for scripts.
enum AnchorState: String {
  case compared, notCompared

  init?(isKnown: Bool, isCompared: Bool) {
    guard isKnown || isCompared else { return nil }
    self = isCompared ? .compared : .notCompared
  }

  var inWords: String {
    switch self {
    case .compared: "compared: this is no older copy"
    case .notCompared: "exists and was not compared: \(Option.anchorFile.name) PATH"
    }
  }
}
