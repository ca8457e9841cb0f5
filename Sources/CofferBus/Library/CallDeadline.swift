import CofferCGio
import Foundation

/// A deadline that cancels a blocking GIO call without a timeout.
// GCancellable and DispatchWorkItem may be cancelled from any thread, and no reference ever changes.
package final class CallDeadline: @unchecked Sendable {
  /// The cancellable to pass to the call.
  package let cancellable: OpaquePointer
  private let gio: UnsafePointer<coffer_gio>
  private let work: DispatchWorkItem
  // A private queue: all threads of the shared ones may be blocked in calls that are to be cancelled here.
  private static let queue = DispatchQueue(label: "coffer.bus.deadline")

  /// Starts the deadline.
  /// - Throws: ``BusFailure`` of kind `noLibrary`.
  package init(_ duration: Duration) throws(BusFailure) {
    gio = try Gio.functions()
    cancellable = gio.pointee.g_cancellable_new()
    let held = HeldObject(cancellable, gio)
    work = DispatchWorkItem { held.cancel() }
    Self.queue.asyncAfter(deadline: .now() + .milliseconds(Int(duration.wholeMilliseconds)), execute: work)
  }

  deinit {
    work.cancel()
    gio.pointee.g_object_unref(UnsafeMutableRawPointer(cancellable))
  }

  package func cancel() { work.cancel() }

  /// Ends the call now, as if the time had passed.
  package func expire() { gio.pointee.g_cancellable_cancel(cancellable) }
}

/// A strong reference to a cancellable.
// Counting references is atomic in GObject, any thread may cancel, and the pointers never change.
private final class HeldObject: @unchecked Sendable {
  private let pointer: OpaquePointer
  private let gio: UnsafePointer<coffer_gio>

  init(_ pointer: OpaquePointer, _ gio: UnsafePointer<coffer_gio>) {
    self.pointer = pointer
    self.gio = gio
    _ = gio.pointee.g_object_ref(UnsafeMutableRawPointer(pointer))
  }

  deinit { gio.pointee.g_object_unref(UnsafeMutableRawPointer(pointer)) }

  func cancel() { gio.pointee.g_cancellable_cancel(pointer) }
}

extension Duration {
  /// The duration for GLib, in milliseconds; at least 1, since 0 and negative numbers have other meanings there.
  package var wholeMilliseconds: CInt {
    let (seconds, attoseconds) = components
    return CInt(clamping: max(1, min(seconds, 1_000_000) * 1_000 + attoseconds / 1_000_000_000_000_000))
  }
}
