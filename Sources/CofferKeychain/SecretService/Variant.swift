#if SecretService && os(Linux)
  import CofferCSecret

  /// A value as D-Bus carries it: GLib's GVariant, which never changes once it is made.
  final class Variant {
    let pointer: OpaquePointer

    /// Takes over a value that a function of GLib has made, floating or not.
    init(taking pointer: OpaquePointer) { self.pointer = g_variant_take_ref(pointer) }

    deinit { g_variant_unref(pointer) }

    // MARK: Making

    /// The text must not contain a zero byte: what follows it would be lost.
    static func string(_ text: String) -> Variant { Variant(taking: g_variant_new_string(text)) }

    static func objectPath(_ path: KeyringItemPath) -> Variant {
      Variant(taking: g_variant_new_object_path(path.description))
    }

    static func bool(_ value: Bool) -> Variant { Variant(taking: g_variant_new_boolean(value ? 1 : 0)) }

    static func uint32(_ value: UInt32) -> Variant { Variant(taking: g_variant_new_uint32(value)) }

    static func tuple(_ members: Variant...) -> Variant {
      let pointers: [OpaquePointer?] = members.map(\.pointer)
      return withExtendedLifetime(members) { Variant(taking: g_variant_new_tuple(pointers, gsize(pointers.count))) }
    }

    /// Elements of one type, which is told for the case that there are none.
    static func array(of type: String, _ elements: [Variant]) -> Variant {
      let pointers: [OpaquePointer?] = elements.map(\.pointer)
      return withExtendedLifetime(elements) {
        VariantType.with(type) { Variant(taking: g_variant_new_array($0, pointers, gsize(pointers.count))) }
      }
    }

    /// `a{ss}`.
    static func attributes(_ attributes: [KeyringAttribute]) -> Variant {
      array(of: "{ss}", attributes.map { .entry(.string($0.name), .string($0.text)) })
    }

    /// `a{sv}`.
    static func properties(_ properties: [(name: String, value: Variant)]) -> Variant {
      array(of: "{sv}", properties.map { .entry(.string($0.name), $0.value.boxed) })
    }

    private static func entry(_ key: Variant, _ value: Variant) -> Variant {
      withExtendedLifetime((key, value)) { Variant(taking: g_variant_new_dict_entry(key.pointer, value.pointer)) }
    }

    /// The value as a `v`.
    var boxed: Variant { Variant(taking: g_variant_new_variant(pointer)) }

    // MARK: Reading: nil when the value is of another type

    private func has(_ type: GVariantClass) -> Bool { g_variant_classify(pointer) == type }

    /// Of a string or an object path.
    var text: String? {
      guard has(G_VARIANT_CLASS_STRING) || has(G_VARIANT_CLASS_OBJECT_PATH) else { return nil }
      return String(cString: g_variant_get_string(pointer, nil))
    }

    var path: KeyringItemPath? { text.flatMap { KeyringItemPath($0) } }

    var bool: Bool? { has(G_VARIANT_CLASS_BOOLEAN) ? g_variant_get_boolean(pointer) != 0 : nil }

    var uint64: UInt64? { has(G_VARIANT_CLASS_UINT64) ? UInt64(g_variant_get_uint64(pointer)) : nil }

    /// What is in a `v`.
    var unboxed: Variant? { has(G_VARIANT_CLASS_VARIANT) ? Variant(taking: g_variant_get_variant(pointer)) : nil }

    /// The members of a tuple, array or entry.
    var children: [Variant] {
      guard g_variant_is_container(pointer) != 0 else { return [] }
      return (0..<g_variant_n_children(pointer)).map { Variant(taking: g_variant_get_child_value(pointer, $0)) }
    }

    /// A member of a tuple or array.
    subscript(index: Int) -> Variant? {
      guard g_variant_is_container(pointer) != 0, index >= 0, gsize(index) < g_variant_n_children(pointer) else {
        return nil
      }
      return Variant(taking: g_variant_get_child_value(pointer, gsize(index)))
    }

    /// A member of an `a{sv}`.
    func property(_ name: String) -> Variant? {
      children.first { $0[0]?.text == name }.flatMap { $0[1]?.unboxed }
    }
  }

  /// Types as GLib wants them.
  enum VariantType {
    /// Calls with a type; `text` must be a valid one.
    static func with<R>(_ text: String, _ body: (OpaquePointer) -> R) -> R {
      let type: OpaquePointer = g_variant_type_new(text)
      defer { g_variant_type_free(type) }
      return body(type)
    }
  }
#endif
