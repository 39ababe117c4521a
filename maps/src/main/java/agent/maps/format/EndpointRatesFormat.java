package agent.maps.format;

import agent.maps.layout.EndpointRatesFlyweight;
import org.agrona.MutableDirectBuffer;

/**
 * Formats what was limited for an endpoint as {@code endpoint 12} and {@code events suppressed 7
 * fragments overflowed 0}.
 */
final class EndpointRatesFormat implements MapFormat {
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
    final EndpointRatesFlyweight rate = new EndpointRatesFlyweight().wrap(value, valueOffset);
    out.append("events suppressed ").append(Long.toUnsignedString(rate.eventsSuppressed()));
    out.append(" fragments overflowed ").append(Long.toUnsignedString(rate.fragmentsOverflowed()));
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    final EndpointRatesFlyweight rate = new EndpointRatesFlyweight().wrap(value, valueOffset);
    return rate.eventsSuppressed() != 0 || rate.fragmentsOverflowed() != 0;
  }
}
