package agent.maps.layout;

import java.util.List;
import java.util.stream.Stream;

/** Lists every enum that Java shares with C, for the layout check. */
public final class Layouts {
  public static final List<EnumSpec> ENUMS =
      Stream.concat(
              MapSize.ENUMS.stream(),
              Stream.of(
                  AggregationLevel.ENUM,
                  BackendState.ENUM,
                  ConntrackDelivery.ENUM,
                  RedirectKind.ENUM,
                  ConntrackEntries.PENDING_ENUM,
                  ConntrackFlag.ENUM,
                  ConntrackRewrite.ENUM,
                  ConntrackSide.ENUM,
                  ConntrackTable.ENUM,
                  DropReason.ENUM,
                  EndpointOption.ENUM,
                  EventGate.ENUM,
                  EventType.ENUM,
                  FoundSocketFlag.ENUM,
                  GenerationLayout.ENUM,
                  IpcacheFlag.ENUM,
                  MetricsDirection.ENUM,
                  MetricsLayout.ENUM,
                  PolicyDirection.ENUM,
                  PolicyFlag.ENUM,
                  PolicyPrefix.ENUM,
                  PrefilterCell.ENUM,
                  PrefilterGeometry.ENUM,
                  PrefilterTable.ENUM,
                  ServiceForwarding.ENUM,
                  ServiceGate.ENUM,
                  ServiceScope.ENUM,
                  SocketCounter.ENUM,
                  TranslationPlace.ENUM))
          .toList();

  private Layouts() {}
}
