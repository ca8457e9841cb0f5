import CofferCore

extension StorageRouter {
  /// Returns a stream of the current value and the value after each change by any writer; while there is none, the
  /// key's default or `nil`.
  ///
  /// ```swift
  /// for await theme in try await router.values(of: .theme) { apply(try theme.get()) }
  /// ```
  ///
  /// A value that cannot be read or decoded, and a store that cannot be opened, is delivered as a failure, and the
  /// stream continues. The next value follows once the key changes or the store can be read again. `try theme.get()`
  /// ends the loop at the first failure instead. A failure that persists is delivered once.
  ///
  /// A slow consumer may skip intermediate values but always receives the latest one. The stream ends when the router
  /// is closed or the task is cancelled.
  /// - Throws: `StorageError` when the key cannot be used, for example because it is in no catalog; `closed`.
  public nonisolated func values<K: StorageKey>(
    of key: K
  ) async throws -> AsyncStream<Result<K.Value?, StorageError>> {
    let (values, defaultValue) = (try await storedValues(of: key), key.defaultValue)
    return AsyncStream {
      for await value in values { return value.map { $0 ?? defaultValue } }
      return nil
    }
  }

  /// Returns the same stream without the key's default.
  nonisolated func storedValues<K: StorageKey>(
    of key: K
  ) async throws -> AsyncStream<Result<K.Value?, StorageError>> {
    try await stream(
      of: key, failure: { .failure($0) },
      begin: { [self] resolved in resolved.store.values(DeclaredValue(self, key, resolved)) })
  }

  /// Returns a stream about the store of a key. While the store cannot be opened, the stream delivers the reason
  /// instead, and tries again each second: there is no engine yet that could report a change.
  nonisolated func stream<K: StorageKey, Element: Sendable>(
    of key: K, failure: @escaping @Sendable (StorageError) -> Element,
    begin: @escaping @Sendable (ResolvedKey) -> AsyncStream<Element>
  ) async throws -> AsyncStream<Element> {
    // A declaration or an id that is refused is an error of the caller, not a state of the store.
    _ = try registry.find(key)
    _ = try key.family?.key(named: key.name)
    _ = try DomainLocation(key.domain, configuration)
    let reason: StorageError
    do { return begin(try await resolve(key)) } catch let error as StorageError where error.code != .closed {
      reason = error
    }
    let opening = Locked<(stream: AsyncStream<Element>?, told: StorageError?)>((nil, nil))
    return AsyncStream { [self] in
      let (stream, told) = opening.withLock { $0 }
      if let stream { return await stream.first { _ in true } }
      guard let told else {
        opening.withLock { $0.told = reason }
        return failure(reason)
      }
      while !Task.isCancelled {
        try? await Task.sleep(for: .seconds(1))
        do {
          let stream = begin(try await resolve(key))
          opening.withLock { $0.stream = stream }
          return await stream.first { _ in true }
        } catch let error as StorageError where error.code != .closed {
          guard !error.isSame(as: told) else { continue }
          opening.withLock { $0.told = error }
          return failure(error)
        } catch { return nil }
      }
      return nil
    }
  }
}
