// Sends a plan, consumes, or both. See docs/operations/interop.md for arguments and output.
package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

type settings map[string]string

func (s settings) number(name string) int {
	number, _ := strconv.Atoi(s[name])
	return number
}

// planned is one line of a plan: what to send.
type planned struct {
	id, kind              string
	value                 int64
	tag, keys, note, body string
}

func readPlan(file string) []planned {
	if file == "" {
		return nil
	}
	content, err := os.ReadFile(file)
	stopOn(err)
	var plan []planned
	for _, line := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
		c := strings.Split(line, "\t")
		value, err := strconv.ParseInt(c[2], 10, 64)
		stopOn(err)
		plan = append(plan, planned{c[0], c[1], value, c[3], c[4], c[5], c[6]})
	}
	return plan
}

// message returns the message and its absolute deliver time, -1 when the broker works it out.
func (p planned) message(topic string, now time.Time) (*primitive.Message, int64) {
	message := primitive.NewMessage(topic, []byte(p.body))
	message.WithTag(p.tag).WithKeys(strings.Split(p.keys, " "))
	message.WithProperty("interop-note", p.note)
	deliverMs := int64(-1)
	switch p.kind {
	case "plain":
	case "level":
		message.WithDelayTimeLevel(int(p.value))
	case "delay-sec":
		message.WithProperty("TIMER_DELAY_SEC", strconv.FormatInt(p.value, 10))
	case "delay-ms":
		message.WithProperty("TIMER_DELAY_MS", strconv.FormatInt(p.value, 10))
	case "deliver-ms":
		deliverMs = now.UnixMilli() + p.value
		message.WithDelayTimestamp(time.UnixMilli(deliverMs))
	default:
		panic("unknown kind " + p.kind)
	}
	return message, deliverMs
}

// events writes what happened to standard output and remembers the ids.
type events struct {
	lock sync.Mutex
	ids  map[string]bool
	warm chan struct{}
	once sync.Once
	full chan struct{}
	want int
}

func (e *events) write(columns ...any) {
	for i := range columns {
		columns[i] = fmt.Sprint(columns[i])
	}
	var texts []string
	for _, column := range columns {
		texts = append(texts, column.(string))
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	fmt.Println(strings.Join(texts, "\t"))
}

func (e *events) received(message *primitive.MessageExt, nowMs int64) {
	id, _, _ := strings.Cut(string(message.Body), "|")
	if id == "warmup" {
		e.once.Do(func() { close(e.warm) })
		return
	}
	e.write("received", nowMs, message.ReconsumeTimes, message.GetTags(), message.GetKeys(),
		message.GetProperty("interop-note"), base64.StdEncoding.EncodeToString(message.Body))
	e.lock.Lock()
	defer e.lock.Unlock()
	if !e.ids[id] {
		e.ids[id] = true
		if len(e.ids) == e.want {
			close(e.full)
		}
	}
}

func startProducer(s settings) rocketmq.Producer {
	p, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{s["nameserver"]})),
		producer.WithGroupName(s["group"]+"-producer"),
		producer.WithSendMsgTimeout(10*time.Second))
	stopOn(err)
	stopOn(p.Start())
	return p
}

func startConsumer(s settings, e *events) rocketmq.PushConsumer {
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{s["nameserver"]})),
		consumer.WithGroupName(s["group"]),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	stopOn(err)
	stopOn(c.Subscribe(s["topic"], consumer.MessageSelector{}, func(_ context.Context,
		messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		nowMs := time.Now().UnixMilli()
		for _, message := range messages {
			e.received(message, nowMs)
		}
		return consumer.ConsumeSuccess, nil
	}))
	stopOn(c.Start())
	return c
}

// answered is what is known of a message after its send.
type answered struct {
	uniqueKey string
	deliverMs int64
}

// sendAll returns the answered sends by the ids of their messages.
func sendAll(p rocketmq.Producer, s settings, e *events, plan []planned) map[string]answered {
	sent := map[string]answered{}
	for _, next := range plan {
		before := time.Now()
		message, deliverMs := next.message(s["topic"], before)
		result, err := p.SendSync(context.Background(), message)
		if err == nil && result.Status != primitive.SendOK {
			err = fmt.Errorf("status %d", result.Status)
		}
		if err != nil {
			e.write("failed", next.id, strings.Join(strings.Fields(err.Error()), " "))
			continue
		}
		e.write("sent", next.id, before.UnixMilli(), time.Now().UnixMilli(), deliverMs)
		sent[next.id] = answered{result.MsgID, deliverMs}
	}
	return sent
}

// cancelAll cancels messages, each given as `mark:id`, by sending a message that marks it as
// deleted: this client has no recall. A message that was not sent is left out.
func cancelAll(p rocketmq.Producer, s settings, e *events, sent map[string]answered) {
	if s["cancel"] == "" {
		return
	}
	for _, pair := range strings.Split(s["cancel"], ",") {
		way, id, _ := strings.Cut(pair, ":")
		if way != "mark" {
			panic("unknown way " + way)
		}
		message, isSent := sent[id]
		if !isSent {
			continue
		}
		mark := primitive.NewMessage(s["topic"], []byte("mark|"))
		mark.WithProperty("TIMER_DEL_UNIQKEY", message.uniqueKey)
		mark.WithDelayTimestamp(time.UnixMilli(message.deliverMs))
		beforeMs := time.Now().UnixMilli()
		result, err := p.SendSync(context.Background(), mark)
		if err == nil && result.Status != primitive.SendOK {
			err = fmt.Errorf("status %d", result.Status)
		}
		if err != nil {
			e.write("not-cancelled", id, beforeMs, strings.Join(strings.Fields(err.Error()), " "))
			continue
		}
		e.write("cancelled", id, time.Now().UnixMilli(), message.uniqueKey, "")
	}
}

func main() {
	s := settings{}
	for _, argument := range os.Args[1:] {
		name, value, _ := strings.Cut(argument, "=")
		s[name] = value
	}
	rlog.SetLogLevel("error")
	stopOn(rlog.SetOutputPath(s["logFile"]))
	timeout := time.After(time.Duration(s.number("timeoutMs")) * time.Millisecond)
	e := &events{ids: map[string]bool{}, warm: make(chan struct{}), full: make(chan struct{}),
		want: s.number("receive")}

	p := startProducer(s)
	_, err := p.SendSync(context.Background(), primitive.NewMessage(s["topic"], []byte("warmup|")))
	stopOn(err)
	c := startConsumer(s, e)
	await(e.warm, timeout)
	cancelAll(p, s, e, sendAll(p, s, e, readPlan(s["send"])))
	await(e.full, timeout)
	time.Sleep(time.Duration(s.number("quietMs")) * time.Millisecond) // for what should not come
	stopOn(c.Shutdown())
	stopOn(p.Shutdown())
}

// await gives up when the time is up; what is missing is for the judge to say.
func await(done <-chan struct{}, timeout <-chan time.Time) {
	select {
	case <-done:
	case <-timeout:
		fmt.Fprintln(os.Stderr, "time is up")
	}
}

func stopOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
