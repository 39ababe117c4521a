package agent.maps.format;

import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceBackendKeyFlyweight;
import org.agrona.MutableDirectBuffer;

/** Formats backends as {@code service 7 10.1.0.7:80} and {@code active}. */
final class ServiceBackendFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final ServiceBackendKeyFlyweight backend =
        new ServiceBackendKeyFlyweight().wrap(key, keyOffset);
    FieldText.unsigned(out.append("service "), backend.serviceId());
    FieldText.end(out.append(' '), backend.addressHigh(), backend.addressLow(), backend.port());
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final int number = value.getInt(valueOffset);
    for (final BackendState state : BackendState.values()) {
      if (state.number() == number) {
        FieldText.constant(out, state.name());
        return;
      }
    }
    FieldText.unsigned(out.append("state "), number);
  }
}
