import CofferCore

#if SecretService && os(Linux)

  extension KeyringSlots {
    /// Returns the collection in which the values are: the one in which they were stored, also if another one is the
    /// default now; `nil` for the default.
    func home() throws -> KeyringItemPath? {
      guard let before = try former() else { return nil }
      let noted = before.path
      guard !before.isLocked else { throw before.lockedError(isNoted: history.collection != nil) }
      // One at a time: the first is one of ours, as a rule.
      let hasOurs = try client.search(scopeAttributes, in: noted).contains { path in
        try client.items([path]).contains(where: isOurs)
      }
      return hasOurs ? noted : nil
    }

    /// Returns the collection in which the values may be, if that is not the default one.
    func former() throws -> KeyringCollection? {
      guard let noted = try history.collection ?? elsewhere(), try client.defaultPath() != noted else { return nil }
      return try client.collection(noted)
    }

    /// Returns another collection with values of ours if none is noted, as after the journal was lost, and the default
    /// one has none. Looked for once, unless that fails.
    private func elsewhere() throws -> KeyringItemPath? {
      if let found = foundElsewhere.withLock({ $0 }) { return found.first }
      let ours = scopeAttributes + [KeyringAttribute("xdg:schema", Self.schema)]
      let standard = try client.defaultPath()
      let items = try client.searchEverywhere(ours) ?? []
      // Without a group, a search also returns the items of every group.
      let isInDefault =
        try items.contains { $0.parent == standard } && client.items(client.search(ours)).contains(where: isOurs)
      // A locked item does not show all of its attributes.
      let found =
        try isInDefault
        ? nil
        : items.compactMap(\.parent).uniqued.first { path in
          guard path != standard, let collection = try client.collection(path) else { return false }
          return try collection.isLocked || client.items(items.filter { $0.parent == path }).contains(where: isOurs)
        }
      foundElsewhere.withLock { $0 = found.map { [$0] } ?? [] }
      return found
    }
  }
#endif
