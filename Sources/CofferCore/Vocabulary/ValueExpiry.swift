public import Foundation

extension ValueAttributes {
  /// The date from which the value is absent, in whole milliseconds; `nil` for a value that does not expire.
  ///
  /// An expired value is absent in every read and listing, of every process, by the clock of the reading engine
  /// (``StorageEngine/clock``). It occupies its space until it is swept: at least an hour later, by a commit like any
  /// other. A clock that is set back therefore makes a value visible again that was not swept yet, and one that is
  /// ahead hides values too early. The next put of the key replaces the expiry with its own.
  ///
  /// ```swift
  /// var attributes = ValueAttributes()
  /// attributes.expires = .now + 3_600
  /// try await engine.commit(WriteBatch([.put(key, token, attributes)]), from: origin)
  /// ```
  public var expires: Date? {
    get { self[.expiry] }
    set { self[.expiry] = newValue }
  }

  /// Creates the attributes of a value that expires; none if the date is `nil`.
  package init(expires: Date?) {
    self.init()
    if let expires { self.expires = expires }
  }

  /// Whether a value with these attributes is absent at a date. Every engine judges by this function alone.
  /// - Parameter now: the date by the clock of the engine, evaluated for values that expire.
  package func isExpired(at now: @autoclosure () -> Date) -> Bool {
    guard !isEmpty, let expires else { return false }
    return expires.unixMilliseconds <= now().unixMilliseconds
  }
}

extension StoreEntry {
  /// Returns the entry unless it has expired.
  package func present(at now: @autoclosure () -> Date) -> StoreEntry? {
    attributes.isExpired(at: now()) ? nil : self
  }
}

extension WriteBatch {
  /// The dates from which values of the batch are absent, by key; empty for most batches.
  package var expiries: [KeyName: Date] {
    guard traits.contains(.expiries) else { return [:] }
    var expiries: [KeyName: Date] = [:]
    for case .put(let key, _, let attributes) in operations where !attributes.isEmpty {
      expiries[key] = attributes.expires
    }
    return expiries
  }

  /// Creates the batch that removes expired values, unless they were replaced since they were found.
  package init(sweeping expired: [(key: KeyName, revision: StoreRevision)]) {
    self.init(durability: .relaxed)
    for (key, revision) in expired {
      require(key, at: revision)
      delete(key)
    }
  }
}
