package agent.maps.format;

import agent.maps.layout.PortUsageFlyweight;
import org.agrona.MutableDirectBuffer;

/** Formats the ports of an endpoint as {@code endpoint 12} and {@code replaced 7 refused 3}. */
final class PortUsageFormat implements MapFormat {
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
    final PortUsageFlyweight usage = new PortUsageFlyweight().wrap(value, valueOffset);
    out.append("replaced ").append(Long.toUnsignedString(usage.replaced()));
    out.append(" refused ").append(Long.toUnsignedString(usage.refused()));
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    final PortUsageFlyweight usage = new PortUsageFlyweight().wrap(value, valueOffset);
    return usage.replaced() != 0 || usage.refused() != 0;
  }
}
