package agent.maps.format;

import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.EndpointFlag;
import org.agrona.MutableDirectBuffer;

/**
 * Formats endpoints as {@code endpoint 12} and {@code interface 7 identity 2031 mac ... host-mac
 * ...}.
 */
final class EndpointFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    FieldText.unsigned(out.append("endpoint "), key.getInt(keyOffset));
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final EndpointEntryFlyweight entry = new EndpointEntryFlyweight().wrap(value, valueOffset);
    FieldText.unsigned(out.append("interface "), entry.ifindex());
    FieldText.unsigned(out.append(" identity "), entry.identity());
    FieldText.mac(out.append(" mac "), entry.mac());
    FieldText.mac(out.append(" host-mac "), entry.hostMac());
    if ((entry.flags() & EndpointFlag.POLICY_AUDIT.number()) != 0) {
      out.append(" policy-audit");
    }
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    return value.getInt(valueOffset + EndpointEntryFlyweight.IFINDEX_OFFSET) != 0;
  }
}
