package agent.maps.format;

import agent.maps.layout.AggregationLevel;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.EndpointOption;
import org.agrona.MutableDirectBuffer;

/**
 * Formats endpoints as {@code endpoint 12} and {@code interface 7 identity 2031 mac ... host-mac
 * ... ipv4 10.0.0.2 policy 3 options [conntrack] aggregation none}.
 */
final class EndpointFormat implements MapFormat {
  private static final EndpointOption[] OPTIONS = EndpointOption.values();
  private static final AggregationLevel[] LEVELS = AggregationLevel.values();

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
    if (entry.hasIpv4()) {
      FieldText.ipv4(out.append(" ipv4 "), entry.ipv4());
    }
    if (entry.hasIpv6()) {
      FieldText.ipv6(out.append(" ipv6 "), entry.ipv6High(), entry.ipv6Low());
    }
    FieldText.unsigned(out.append(" policy "), entry.policyId());
    out.append(" options ");
    char separator = '[';
    for (final EndpointOption option : OPTIONS) {
      if ((entry.options() & option.number()) != 0) {
        FieldText.constant(out.append(separator), option.name());
        separator = ',';
      }
    }
    out.append(separator == '[' ? "[]" : "]");
    FieldText.constant(out.append(" aggregation "), LEVELS[entry.aggregation() & 3].name());
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    return value.getInt(valueOffset + EndpointEntryFlyweight.IFINDEX_OFFSET) != 0;
  }
}
