package agent.server.monitor;

import agent.datapath.spec.DatapathEvents;
import agent.datapath.spec.FlowRing;
import agent.maps.layout.DropReason;
import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.TranslationEventFlyweight;
import agent.maps.layout.TranslationPlace;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.agrona.concurrent.UnsafeBuffer;

/** A datapath whose events a test emits. */
final class MonitoredDatapath implements DatapathEvents {
  static final int LONGEST_PACKET = 65_535;

  final List<FlowSubscriber> subscribers = new CopyOnWriteArrayList<>();
  private final UnsafeBuffer record =
      new UnsafeBuffer(new byte[FlowEventFlyweight.LENGTH + LONGEST_PACKET]);
  final FlowEventFlyweight event = new FlowEventFlyweight().wrap(record, 0);
  final TranslationEventFlyweight translation =
      new TranslationEventFlyweight()
          .wrap(new UnsafeBuffer(new byte[TranslationEventFlyweight.LENGTH]), 0);

  /** What happens when one subscribes, on its thread. */
  Consumer<FlowSubscriber> onSubscribe = subscriber -> {};

  CompletableFuture<Void> emitting = CompletableFuture.completedFuture(null);
  final AtomicLong polls = new AtomicLong();
  volatile long lost;
  volatile FlowRing flows = ring(0);

  /** Fills a new ring with drops, whose ports count from 0. */
  void keep(int count) {
    flows = ring(count);
    for (int i = 0; i < count; i++) {
      emit(EventType.DROP, i);
    }
  }

  void emit(EventType type, int port) {
    emit(type, port, new byte[0]);
  }

  void emit(EventType type, int port, byte[] captured) {
    record.putBytes(FlowEventFlyweight.LENGTH, captured);
    event
        .clear()
        .timestampNs(System.nanoTime())
        .type(type.number())
        .reason(DropReason.POLICY_DENIED.number())
        .direction(MetricsDirection.INGRESS.number())
        .family(4)
        .protocol(6)
        .endpointId(7)
        .sourceIdentity(256)
        .destinationIdentity(257)
        .length(60)
        .capturedLength(captured.length)
        .sourcePort(port)
        .destinationPort(80)
        .sourceAddress(0x0a010009L << 32, 0)
        .destinationAddress(0x0a010007L << 32, 0);
    flows.append(event);
    subscribers.forEach(subscriber -> subscriber.onEvent(event));
    polls.incrementAndGet();
  }

  void translate(int port) {
    translation
        .timestampNs(System.nanoTime())
        .type(EventType.TRANSLATION.number())
        .place(TranslationPlace.NETWORK.number())
        .family(4)
        .protocol(17)
        .serviceId(9)
        .sourcePort(port);
    subscribers.forEach(subscriber -> subscriber.onTranslation(translation));
    polls.incrementAndGet();
  }

  @Override
  public CompletableFuture<Void> subscribe(FlowSubscriber subscriber) {
    subscribers.add(subscriber);
    onSubscribe.accept(subscriber);
    return emitting;
  }

  @Override
  public void unsubscribe(FlowSubscriber subscriber) {
    subscribers.remove(subscriber);
  }

  @Override
  public long polls() {
    return polls.get();
  }

  @Override
  public long received() {
    return 0;
  }

  @Override
  public long lost() {
    return lost;
  }

  @Override
  public long suppressed() {
    return 0;
  }

  @Override
  public FlowRing flows() {
    return flows;
  }

  static FlowRing ring(int events) {
    return new FlowRing(events, Set.of(), System::nanoTime);
  }
}
