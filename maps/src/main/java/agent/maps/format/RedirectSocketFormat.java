package agent.maps.format;

import agent.maps.layout.RedirectSocketFlyweight;
import agent.maps.layout.RedirectSocketKeyFlyweight;
import org.agrona.MutableDirectBuffer;

/**
 * Formats the sockets of proxies as {@code TCP/40001} and {@code 10.1.0.7:43210 -> 10.1.0.9:80}.
 */
final class RedirectSocketFormat implements MapFormat {
  private static final int IPV6 = 6;
  private static final int INT_BITS = 32;

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final RedirectSocketKeyFlyweight socket = new RedirectSocketKeyFlyweight().wrap(key, keyOffset);
    FieldText.protocol(out, socket.protocol());
    out.append('/').append(socket.port());
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final boolean isIpv6 = new RedirectSocketKeyFlyweight().wrap(key, keyOffset).family() == IPV6;
    final RedirectSocketFlyweight flow = new RedirectSocketFlyweight().wrap(value, valueOffset);
    appendPeer(out, isIpv6, flow.clientHigh(), flow.clientLow(), flow.clientPort());
    out.append(" -> ");
    appendPeer(out, isIpv6, flow.serverHigh(), flow.serverLow(), flow.serverPort());
  }

  private static void appendPeer(StringBuilder out, boolean isIpv6, long high, long low, int port) {
    if (isIpv6) {
      FieldText.ipv6(out.append('['), high, low);
      out.append(']');
    } else {
      FieldText.ipv4(out, (int) (high >>> INT_BITS));
    }
    out.append(':').append(port);
  }
}
