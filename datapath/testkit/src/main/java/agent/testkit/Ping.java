package agent.testkit;

import java.nio.file.Files;
import java.nio.file.Path;

/** ICMP and ICMPv6 echo over the kernel's ping sockets. */
public final class Ping {
  private Ping() {}

  /** Returns whether an echo request is answered in time. */
  public static boolean isAnswered(NetworkNamespace from, String address, int timeoutMs) {
    try {
      return from.run(() -> ping(address, timeoutMs));
    } catch (Exception failure) {
      throw new IllegalStateException("ping " + address, failure);
    }
  }

  private static boolean ping(String address, int timeoutMs) throws Exception {
    final boolean isIpv6 = address.indexOf(':') >= 0;
    Files.writeString(Path.of("/proc/sys/net/ipv4/ping_group_range"), "0 0");
    final int fd =
        SystemCalls.socket(
            isIpv6 ? SystemCalls.AF_INET6 : SystemCalls.AF_INET,
            SystemCalls.SOCK_DGRAM,
            isIpv6 ? 58 : 1);
    try {
      final byte[] request = {(byte) (isIpv6 ? 128 : 8), 0, 0, 0, 0, 0, 0, 1, 'p', 'i', 'n', 'g'};
      return SystemCalls.sendTo(fd, request, socketAddress(address, isIpv6))
          && SystemCalls.receive(fd, timeoutMs)
              .filter(answer -> answer[0] == (byte) (isIpv6 ? 129 : 0))
              .isPresent();
    } finally {
      SystemCalls.closeDescriptor(fd);
    }
  }

  /** {@code struct sockaddr_in} or {@code struct sockaddr_in6} without a port. */
  private static byte[] socketAddress(String address, boolean isIpv6) {
    final byte[] bytes = new byte[isIpv6 ? 28 : 16];
    bytes[0] = (byte) (isIpv6 ? SystemCalls.AF_INET6 : SystemCalls.AF_INET);
    final byte[] numeric = Packets.address(address, isIpv6 ? 16 : 4);
    System.arraycopy(numeric, 0, bytes, isIpv6 ? 8 : 4, numeric.length);
    return bytes;
  }
}
