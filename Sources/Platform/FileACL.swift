import CLinux
import Glibc

/// The access control list of a file (acl(5)), as the kernel keeps it in the attribute `system.posix_acl_access`.
enum FileACL {
    /// Whether the list of an open file gives nothing to any group, to others, or to any named user but `user`. False where there is no list.
    ///
    /// With a list the group's bits of the mode are its mask (acl(5), "Correspondence between ACL entries and file permission bits"), and say nothing of
    /// the group.
    static func sharesNothing(_ descriptor: CInt, with user: uid_t) -> Bool {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = fgetxattr(descriptor, "system.posix_acl_access", &bytes, bytes.count)
        return count > 0 && sharesNothing(Array(bytes.prefix(count)), with: user)
    }

    /// The same for the content of the attribute: a version and entries of eight bytes, little-endian (linux/posix_acl_xattr.h).
    static func sharesNothing(_ attribute: [UInt8], with user: uid_t) -> Bool {
        guard attribute.count >= 4 + entrySize, (attribute.count - 4) % entrySize == 0, number(attribute[..<4]) == version else { return false }
        return stride(from: 4, to: attribute.count, by: entrySize).allSatisfy { start in
            let tag = number(attribute[start..<start + 2]), permissions = number(attribute[start + 2..<start + 4])
            switch tag {
            case userObject, mask: return true
            case namedUser: return permissions == 0 || number(attribute[start + 4..<start + 8]) == user
            case groupObject, namedGroup, other: return permissions == 0
            default: return false
            }
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) } }

    private static let version: UInt32 = 2
    private static let entrySize = 8
    /// A list with more than a few entries does not belong to a secret.
    private static let limit = 1_024
    // Tags of entries (linux/posix_acl.h).
    private static let userObject: UInt32 = 0x01, namedUser: UInt32 = 0x02, groupObject: UInt32 = 0x04, namedGroup: UInt32 = 0x08
    private static let mask: UInt32 = 0x10, other: UInt32 = 0x20
}
