package agent.maps.format;

import agent.maps.layout.Fragment4KeyFlyweight;
import agent.maps.layout.Fragment6KeyFlyweight;
import agent.maps.layout.FragmentEntryFlyweight;
import org.agrona.MutableDirectBuffer;

/** Formats fragments as {@code 10.1.0.7 -> 10.1.0.9 UDP id 4660} and {@code ports 5353 -> 53}. */
final class FragmentFormat implements MapFormat {
  private final boolean ipv6;

  FragmentFormat(boolean ipv6) {
    this.ipv6 = ipv6;
  }

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    if (ipv6) {
      ipv6Datagram(out, new Fragment6KeyFlyweight().wrap(key, keyOffset));
    } else {
      final Fragment4KeyFlyweight datagram = new Fragment4KeyFlyweight().wrap(key, keyOffset);
      ipv4Datagram(
          out,
          datagram.sourceAddress(),
          datagram.destinationAddress(),
          datagram.protocol(),
          datagram.id());
    }
  }

  static void ipv6Datagram(StringBuilder out, Fragment6KeyFlyweight datagram) {
    FieldText.ipv6(out, datagram.sourceAddressHigh(), datagram.sourceAddressLow());
    out.append(" -> ");
    FieldText.ipv6(out, datagram.destinationAddressHigh(), datagram.destinationAddressLow());
    FieldText.protocol(out.append(' '), datagram.protocol());
    FieldText.unsigned(out.append(" id "), datagram.id());
  }

  static void ipv4Datagram(StringBuilder out, int source, int destination, int protocol, int id) {
    FieldText.ipv4(out, source);
    FieldText.ipv4(out.append(" -> "), destination);
    FieldText.protocol(out.append(' '), protocol);
    out.append(" id ").append(id);
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final FragmentEntryFlyweight entry = new FragmentEntryFlyweight().wrap(value, valueOffset);
    out.append("ports ").append(entry.sourcePort());
    out.append(" -> ").append(entry.destinationPort());
  }
}
