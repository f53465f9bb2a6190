import CLinux
import Glibc
import Platform

/// Why a command did not reach the daemon or was not done.
enum ControlClientError: Error, Sendable, Hashable {
    /// Nobody listens at the path.
    case notRunning(path: String, SystemError)
    /// The kernel or the daemon refuses this user.
    case notAllowed(String)
    /// The daemon took longer than it may.
    case timeout(path: String)
    /// The daemon refused the request; its code and words.
    case refused(code: String, text: String)
    /// What came is no answer.
    case malformed(path: String, String)
    /// The connection failed.
    case system(SystemError)
}

/// The other end of the control socket, for commands. It blocks, but never for longer than its patience.
enum ControlClient {
    /// How long the way to the daemon and back may take, beside what the request itself may.
    static let patience = Duration.seconds(5)
    /// The most bytes of an answer: a report with hundreds of devices is far below, and so is a list of all the rejected windows that can be kept.
    static let limit = 4 << 20

    /// Sends the request and waits for its answer: the object that the daemon sent.
    static func ask(_ request: ControlRequest, at path: String, patience: Duration = patience) throws(ControlClientError) -> JSONValue {
        let deadline = bootClock() + request.allowance + patience
        let socket = try connect(path)
        do throws(SystemError) {
            // A request is far smaller than a socket's buffer.
            guard try socket.send(request.line) == request.line.count else { throw SystemError("send", code: EAGAIN, subject: path) }
        } catch {
            // The daemon may have refused before it read; then its words are there to be read.
            if error.code != EPIPE { throw .system(error) }
        }
        let answer = try receive(socket, until: deadline, path)
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: answer, size: limit)
        } catch {
            throw .malformed(path: path, "\(error)")
        }
        if let error = value["error"] {
            let code = error["code"]?.string ?? "unknown", text = error["text"]?.string ?? "no reason given"
            if code == ControlError.notAllowedCode { throw .notAllowed(text) }
            throw .refused(code: code, text: text)
        }
        return value
    }

    private static func connect(_ path: String) throws(ControlClientError) -> Descriptor {
        do throws(SystemError) {
            return try UnixSocket.connect(to: path, kind: .stream)
        } catch {
            switch error.code {
            case ENOENT, ECONNREFUSED, ENOTDIR: throw .notRunning(path: path, error)
            // So many wait already that the kernel takes no more.
            case EAGAIN: throw .timeout(path: path)
            case EACCES, EPERM: throw .notAllowed("\(error); run the command as root or as the gateway's user")
            default: throw .system(error)
            }
        }
    }

    private static func receive(_ socket: borrowing Descriptor, until deadline: BootInstant, _ path: String) throws(ControlClientError) -> [UInt8] {
        var answer: [UInt8] = []
        while answer.count <= limit {
            let left = (deadline - bootClock()).milliseconds
            guard left > 0 else { throw .timeout(path: path) }
            var entry = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
            _ = retryOnInterrupt { poll(&entry, 1, CInt(left)) }
            do throws(SystemError) {
                guard let bytes = try socket.read(upTo: 65_536) else { continue }
                if bytes.isEmpty { return answer }
                answer += bytes
            } catch {
                // A daemon that closes with unread bytes resets the connection, but not before what it said has arrived.
                if error.code == ECONNRESET, !answer.isEmpty { return answer }
                throw .system(error)
            }
        }
        throw .malformed(path: path, "longer than \(limit) bytes")
    }

    private static func bootClock() -> BootInstant {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return BootInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
