package agent.bindings;

/** Error numbers of the kernel (asm-generic/errno.h) and their names. */
public final class Errno {
  /** No such entry; also the end of a batch read. */
  public static final int ENOENT = 2;

  /** No such route. */
  public static final int ESRCH = 3;

  /** Interrupted. */
  public static final int EINTR = 4;

  /** Too big; a full map. */
  public static final int E2BIG = 7;

  /** Not an open descriptor. */
  public static final int EBADF = 9;

  /** Try again. */
  public static final int EAGAIN = 11;

  /** Out of memory. */
  public static final int ENOMEM = 12;

  /** Refused by the verifier or by permission. */
  public static final int EACCES = 13;

  /** Busy. */
  public static final int EBUSY = 16;

  /** Exists. */
  public static final int EEXIST = 17;

  /** No such device. */
  public static final int ENODEV = 19;

  /** Invalid argument. */
  public static final int EINVAL = 22;

  /** No space; also a batch buffer smaller than one hash bucket. */
  public static final int ENOSPC = 28;

  /** Malformed message. */
  public static final int EBADMSG = 74;

  /** Message too long. */
  public static final int EMSGSIZE = 90;

  /** Not supported here. */
  public static final int EOPNOTSUPP = 95;

  /** The kernel lacks the protocol of a socket. */
  public static final int EPROTONOSUPPORT = 93;

  /** The address is bound. */
  public static final int EADDRINUSE = 98;

  /** No such address on this machine. */
  public static final int EADDRNOTAVAIL = 99;

  /** No answer in time. */
  public static final int ETIMEDOUT = 110;

  /** Nothing listens. */
  public static final int ECONNREFUSED = 111;

  /** The kernel's internal "not supported", which bpf(2) returns to user space. */
  public static final int ENOTSUPP = 524;

  /** The last number of asm-generic/errno.h that {@link #general} names. */
  private static final int ELOOP = 40;

  private Errno() {}

  /**
   * Returns the symbolic name, such as "ENOSPC", or "error 4711" for an unknown number.
   *
   * @param errno positive or negative
   */
  public static String name(int errno) {
    final int number = Math.abs(errno);
    return number <= ELOOP ? general(number) : further(number);
  }

  private static String general(int number) {
    return switch (number) {
      case 1 -> "EPERM";
      case 2 -> "ENOENT";
      case 3 -> "ESRCH";
      case 4 -> "EINTR";
      case 5 -> "EIO";
      case 6 -> "ENXIO";
      case 7 -> "E2BIG";
      case 8 -> "ENOEXEC";
      case 9 -> "EBADF";
      case 10 -> "ECHILD";
      case 11 -> "EAGAIN";
      case 12 -> "ENOMEM";
      case 13 -> "EACCES";
      case 14 -> "EFAULT";
      case 15 -> "ENOTBLK";
      case 16 -> "EBUSY";
      case 17 -> "EEXIST";
      case 18 -> "EXDEV";
      case 19 -> "ENODEV";
      case 20 -> "ENOTDIR";
      case 21 -> "EISDIR";
      case 22 -> "EINVAL";
      case 23 -> "ENFILE";
      case 24 -> "EMFILE";
      case 25 -> "ENOTTY";
      case 27 -> "EFBIG";
      case 28 -> "ENOSPC";
      case 29 -> "ESPIPE";
      case 30 -> "EROFS";
      case 31 -> "EMLINK";
      case 32 -> "EPIPE";
      case 33 -> "EDOM";
      case 34 -> "ERANGE";
      case 35 -> "EDEADLK";
      case 36 -> "ENAMETOOLONG";
      case 38 -> "ENOSYS";
      case 39 -> "ENOTEMPTY";
      case 40 -> "ELOOP";
      default -> unnamed(number);
    };
  }

  private static String further(int number) {
    return switch (number) {
      case 61 -> "ENODATA";
      case 67 -> "ENOLINK";
      case 71 -> "EPROTO";
      case 74 -> "EBADMSG";
      case 75 -> "EOVERFLOW";
      case 88 -> "ENOTSOCK";
      case 90 -> "EMSGSIZE";
      case 92 -> "ENOPROTOOPT";
      case 93 -> "EPROTONOSUPPORT";
      case 95 -> "EOPNOTSUPP";
      case 97 -> "EAFNOSUPPORT";
      case 98 -> "EADDRINUSE";
      case 99 -> "EADDRNOTAVAIL";
      case 100 -> "ENETDOWN";
      case 101 -> "ENETUNREACH";
      case 105 -> "ENOBUFS";
      case 107 -> "ENOTCONN";
      case 110 -> "ETIMEDOUT";
      case 111 -> "ECONNREFUSED";
      case 114 -> "EALREADY";
      case 116 -> "ESTALE";
      case 524 -> "ENOTSUPP";
      default -> unnamed(number);
    };
  }

  private static String unnamed(int number) {
    return "error " + number;
  }
}
