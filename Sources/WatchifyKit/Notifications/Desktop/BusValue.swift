import CofferCGio

/// An argument of a D-Bus call.
enum BusValue: Equatable, Sendable {
  case string(String)
  case uint32(UInt32)
  case int32(Int32)
  case byte(UInt8)
  case bool(Bool)
  /// `as`
  case strings([String])
  /// `a{sv}`
  case properties([BusProperty])

  /// GLib's form, a floating reference: whoever takes it in owns it.
  func makeVariant() -> OpaquePointer {
    switch self {
    // C strings end at a zero byte, and D-Bus allows none in a text.
    case .string(let text): g_variant_new_string(text.filter { $0 != "\0" })
    case .uint32(let number): g_variant_new_uint32(number)
    case .int32(let number): g_variant_new_int32(number)
    case .byte(let number): g_variant_new_byte(number)
    case .bool(let flag): g_variant_new_boolean(flag ? 1 : 0)
    case .strings(let texts): Self.array(of: "s", texts.map { Self.string($0).makeVariant() })
    case .properties(let properties): Self.array(of: "{sv}", properties.map { $0.makeVariant() })
    }
  }

  /// The arguments of one call.
  static func tuple(_ members: [BusValue]) -> OpaquePointer {
    let pointers: [OpaquePointer?] = members.map { $0.makeVariant() }
    return g_variant_new_tuple(pointers, gsize(pointers.count))
  }

  private static func array(of type: String, _ elements: [OpaquePointer?]) -> OpaquePointer {
    let type: OpaquePointer = g_variant_type_new(type)
    defer { g_variant_type_free(type) }
    return g_variant_new_array(type, elements, gsize(elements.count))
  }
}

/// A name and a value in an `a{sv}`.
struct BusProperty: Equatable, Sendable {
  let name: String
  let value: BusValue

  init(_ name: String, _ value: BusValue) {
    self.name = name
    self.value = value
  }

  fileprivate func makeVariant() -> OpaquePointer {
    g_variant_new_dict_entry(BusValue.string(name).makeVariant(), g_variant_new_variant(value.makeVariant()))
  }
}

/// What a call returned: a tuple, of the type that was asked for.
final class BusReply {
  private let pointer: OpaquePointer

  /// Takes over the reference.
  init(taking pointer: OpaquePointer) { self.pointer = pointer }

  deinit { g_variant_unref(pointer) }

  /// The text at a place; empty when there is no text.
  func string(at index: Int) -> String {
    with(index) { Self.isString($0) ? String(cString: g_variant_get_string($0, nil)) : "" } ?? ""
  }

  func uint32(at index: Int) -> UInt32 {
    with(index) { g_variant_classify($0) == G_VARIANT_CLASS_UINT32 ? g_variant_get_uint32($0) : 0 } ?? 0
  }

  func strings(at index: Int) -> [String] {
    with(index) { list in
      guard g_variant_classify(list) == G_VARIANT_CLASS_ARRAY else { return [] }
      return (0..<g_variant_n_children(list)).compactMap { place -> String? in
        guard let child = g_variant_get_child_value(list, place) else { return nil }
        defer { g_variant_unref(child) }
        return Self.isString(child) ? String(cString: g_variant_get_string(child, nil)) : nil
      }
    } ?? []
  }

  private static func isString(_ value: OpaquePointer) -> Bool { g_variant_classify(value) == G_VARIANT_CLASS_STRING }

  private func with<R>(_ index: Int, _ body: (OpaquePointer) -> R) -> R? {
    guard index >= 0, gsize(index) < g_variant_n_children(pointer),
      let child = g_variant_get_child_value(pointer, gsize(index))
    else { return nil }
    defer { g_variant_unref(child) }
    return body(child)
  }
}
