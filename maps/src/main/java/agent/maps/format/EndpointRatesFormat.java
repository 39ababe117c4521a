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
    out.append("events suppressed ").append(Long.toUnsignedString(rate.events().exceeded()));
    out.append(" fragments overflowed ").append(Long.toUnsignedString(rate.fragments().exceeded()));
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    final EndpointRatesFlyweight rate = new EndpointRatesFlyweight().wrap(value, valueOffset);
    return rate.events().exceeded() != 0 || rate.fragments().exceeded() != 0;
  }
}
