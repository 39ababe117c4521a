package agent.maps.format;

import agent.maps.layout.EarlyFragmentFlyweight;
import agent.maps.layout.Fragment6KeyFlyweight;
import org.agrona.MutableDirectBuffer;

/**
 * Formats fragments that wait as {@code place 3} and {@code 10.1.0.7 -> 10.1.0.9 UDP id 4660, 1514
 * bytes}, without what is in them.
 */
final class EarlyFragmentFormat implements MapFormat {
  private static final int FAMILY_IPV4 = 4;

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    FieldText.unsigned(out.append("place "), key.getInt(keyOffset));
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final EarlyFragmentFlyweight fragment = new EarlyFragmentFlyweight().wrap(value, valueOffset);
    final Fragment6KeyFlyweight datagram = fragment.datagram();
    final int family =
        value.getByte(
            valueOffset
                + EarlyFragmentFlyweight.DATAGRAM_OFFSET
                + Fragment6KeyFlyweight.RESERVED_OFFSET);
    if (family == FAMILY_IPV4) { // the fields of an IPv4 header are the first part of these
      FragmentFormat.ipv4Datagram(
          out,
          (int) (datagram.sourceAddressHigh() >>> Integer.SIZE),
          (int) (datagram.destinationAddressHigh() >>> Integer.SIZE),
          datagram.protocol(),
          datagram.id() >>> Short.SIZE);
    } else {
      FragmentFormat.ipv6Datagram(out, datagram);
    }
    out.append(", ").append(fragment.length()).append(" bytes");
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    return new EarlyFragmentFlyweight().wrap(value, valueOffset).state() != 0;
  }
}
