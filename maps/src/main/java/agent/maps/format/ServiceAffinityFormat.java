package agent.maps.format;

import agent.maps.layout.ServiceAffinityFlyweight;
import agent.maps.layout.ServiceAffinityKeyFlyweight;
import org.agrona.MutableDirectBuffer;

/** Formats affinities as {@code client 4026 service 7} and {@code 10.1.0.7:80 used 17ns}. */
final class ServiceAffinityFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final ServiceAffinityKeyFlyweight client =
        new ServiceAffinityKeyFlyweight().wrap(key, keyOffset);
    out.append("client ").append(Long.toUnsignedString(client.client()));
    FieldText.unsigned(out.append(" service "), client.serviceId());
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final ServiceAffinityFlyweight affinity =
        new ServiceAffinityFlyweight().wrap(value, valueOffset);
    FieldText.end(out, affinity.addressHigh(), affinity.addressLow(), affinity.port());
    out.append(" used ").append(affinity.usedNs()).append("ns");
  }
}
