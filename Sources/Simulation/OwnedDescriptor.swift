import Platform

/// A descriptor that can be replaced and given up: closed when the last reference to it goes.
final class OwnedDescriptor {
    let descriptor: Descriptor
    var raw: CInt { descriptor.raw }

    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}
