package main

import (
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
)

func TestSizesHaveTheMeanOfTheirDistribution(t *testing.T) {
	// The distribution of IMC'14 has a mean of 50.5 kB. Its tail is long: the mean of draws is compared below a bound.
	const shape, scale, bound = 0.35, 10039.0, 1e6
	generator := rand.New(rand.NewPCG(1, 2))
	drawn, expected := 0.0, 0.0
	const draws = 400_000
	for index := range draws {
		drawn += min(bound, weibull(generator.Float64(), shape, scale)) / draws
		expected += min(bound, weibull((float64(index)+0.5)/draws, shape, scale)) / draws
	}
	if math.Abs(drawn/expected-1) > 0.02 {
		t.Fatalf("mean %f, expected %f", drawn, expected)
	}
	if mean := scale * math.Gamma(1+1/shape); math.Abs(mean-50_500) > 100 {
		t.Fatalf("mean %f", mean)
	}
	if median := weibull(0.5, shape, scale); math.Abs(median-scale*math.Pow(math.Ln2, 1/shape)) > 1e-6 {
		t.Fatalf("median %f", median)
	}
}

func backgroundServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go serveBackground(connection)
		}
	}()
	return listener.Addr().String()
}

func TestSessionsOpenFlowsOfTheSizesThatTheyDraw(t *testing.T) {
	for _, upload := range []bool{false, true} {
		one := workload{
			from: netip.MustParseAddr("127.0.0.1"), server: backgroundServer(t), upload: upload, sessions: 3,
			interarrivalNs: 20e6, shape: 0.35, scale: 10039, seed: 7, startNs: realtimeNs(), endNs: realtimeNs() + 700e6,
		}
		found := one.run()
		if found.Failed > 0 || len(found.Flows) < 50 || len(found.Flows) > 180 {
			t.Fatalf("%d flows, expected about 105: %v", len(found.Flows), found.Errors)
		}
		whole := 0
		for _, flow := range found.Flows {
			if flow.Whole {
				whole++
			}
			if flow.Whole && flow.Bytes != flow.Requested || flow.Port == 0 {
				t.Fatalf("%+v", flow)
			}
		}
		if whole < len(found.Flows)*9/10 {
			t.Fatalf("%d of %d flows are whole", whole, len(found.Flows))
		}
	}
}

func TestAFlowWithoutEndEndsWithTheRun(t *testing.T) {
	for _, upload := range []bool{false, true} {
		one := workload{
			from: netip.MustParseAddr("127.0.0.1"), server: backgroundServer(t), upload: upload, sessions: 4, long: true,
			startNs: realtimeNs(), endNs: realtimeNs() + 300e6,
		}
		found := one.run()
		if found.Failed > 0 || len(found.Flows) != 4 {
			t.Fatalf("%+v", found)
		}
		for _, flow := range found.Flows {
			if flow.Whole || flow.Requested != -1 || flow.Bytes < 1000 || flow.EndNs < one.endNs {
				t.Fatalf("%+v", flow)
			}
		}
	}
}

func TestACongestionControlThatTheKernelDoesNotHaveIsToldBeforeTheFirstByte(t *testing.T) {
	one := workload{
		from: netip.MustParseAddr("127.0.0.1"), server: backgroundServer(t), sessions: 1, long: true,
		startNs: realtimeNs(), endNs: realtimeNs() + 200e6, congestionControl: "nosuchcontrol",
	}
	if found := one.run(); found.Failed != 1 || len(found.Errors) != 1 {
		t.Fatalf("%+v", found)
	}
}
