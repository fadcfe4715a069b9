"""Isobar No. 42, October 2026: "Fog"."""
from generator.magazine import Charts, Feature, MagazineIssue, Notes, Plate, Table

ISSUE = MagazineIssue(
    slug="isobar-2026-10", month="October 2026", number="42", theme="The fog issue", price="4.99", accent="#3d6b6e",
    cover=("forest", "fog", "cover"),
    cover_lines=("How a cloud lies down", "The railway that runs by ear", "Lamp-keepers of an invisible coast", "Learn to read a hedge"),
    editorial=("On not seeing far", (
        "There are about forty mornings a year on which this office has no view. The river goes first, then the far bank, then the near one. "
        "By eight the lamp post outside is a rumour.",
        "We have come to like it. A fog is the one kind of weather that you are inside of. It cannot be watched from a window, "
        "because it is what the window is full of.",
        "So here is an issue about finding the way by other means: by sound, by smell, by counting steps, and by asking.")),
    sections=(
        Feature("Air", "How a cloud lies down", "Fog is nothing but cloud that has come to stay on the ground. There are four ways "
                "to make it, and one valley that knows them all.", (
            "The Vale of Tarn has a hundred and nine days of fog a year, and the people who live there count them with some pride. They can tell "
            "one kind from another before breakfast, by how it moves and where it stops.",
            "The first kind is made by a clear night. The ground gives up its heat to the stars, the air on top of it is chilled, and the "
            "vapour in that air has to go somewhere. It hangs. By dawn it fills the valley to the height of the church clock and is as "
            "level as a lake. This is the fog that burns off, though nothing burns: the sun warms the ground beneath, and the lake drains from below.",
            "The second kind arrives. Warm damp air slides in over a cold sea and thickens as it comes. There is no waiting for noon with that one; it "
            "leaves when the wind does. The third kind climbs. Air pushed up a hillside cools as it goes, and walkers meet the "
            "cloud at a gate and leave it at a stile.",
            "The fourth is the strangest. On the first cold mornings of October the river is warmer than the air above it, and it smokes. "
            "Threads stand up from the water, lean together, and walk downstream at the pace of the current. Children are told that they "
            "are the old ferrymen going to work.",
            "What all four have in common is a number. A cubic metre of air at ten degrees can carry nine grams of water unseen, about two teaspoons. "
            "Give it one gram more, or take away a degree or so, and the excess appears as drops so small that ten of them side by side would "
            "be as thick as a sheet of paper.",
            "They fall, but slowly: a hand's breadth in ten seconds. The least breath lifts them up again. So fog is always sinking and "
            "never arrives, and a valley full of it, which looks so heavy, would not fill the village pond."),
            (("hills", "fog", "The Vale of Tarn at seven, filled to the height of the church clock"), ("forest", "slate", "The third kind climbs: cloud at the gate, none at the stile."),
             dict(kind="bars", title="A hundred and nine days", unit="Foggy mornings in the Vale of Tarn, by month", caption="Counted by the village school, which starts late on each of them.",
                  values=(("J", 13), ("F", 10), ("M", 7), ("A", 4), ("M", 3), ("J", 2), ("J", 2), ("A", 5), ("S", 11), ("O", 19), ("N", 18), ("D", 15)))),
            "Fog is always sinking and never arrives."),
        Plate(("sea", "fog", "a"), "The edge of the chart", "Two hundred metres of sea, and then a wall the colour of the inside of a shell. The bell "
              "buoy is out there. You can hear it not being seen."),
        Feature("Rail", "The line that runs by ear", "On the Tarn Light Railway the drivers have an unusual qualification: good hearing.", (
            "There are eleven bridges on the line, and every one has a different voice. The first rings, because it is iron. The second "
            "thuds. At the fifth there is a gap between two stone walls where the echo comes back so quickly that it sounds like a second train.",
            "In fog a driver cannot see the signal until the cab is under it. So the drivers count: so many bridges, so many voices, and then ease "
            "off, because the crossing is forty seconds away. They learn it as one learns a tune. New drivers are sent out as passengers "
            "for a fortnight with their eyes shut.",
            "There are instruments now as well, and they are better than ears. They tell the driver to the metre where the train is. But the "
            "counting has not stopped. A driver who always knows what the next sound ought to be is the first to notice when it is wrong.",
            "In the winter before last a bridge that rings did not ring. The train was stopped with nine metres to spare, and a beech tree was taken off the line."),
            (("rain", "slate", "The up platform, twenty to six, from the waiting room"), ("river", "fog", "Seven of the eleven bridges cross this river.")),
            "They learn it as one learns a tune."),
        Charts("September, counted", "The month behind us: dry until the nineteenth, and then all at once.", (
            dict(kind="bars", title="Rain by week", unit="Millimetres, mean of twelve readers' gauges", values=(("1-7", 3), ("8-14", 2), ("15-21", 24), ("22-28", 38), ("29-30", 6))),
            dict(kind="curve", title="Visibility at eight in the morning", unit="Kilometres, Vale of Tarn, every fourth day", values=(("1", 22), ("5", 18), ("9", 24), ("13", 9), ("17", 4), ("21", 12), ("25", 2), ("29", 1))))),
        Charts("The map", "A high sits down on the lowlands and will not be moved. Under it the air is still, the nights are clear, and the fog has nowhere to go.", (
            dict(kind="pressure", title="9 October, expected", unit="Lines join places of equal pressure, in hectopascals"),)),
        Feature("Coast", "Keepers of the lamp", "Nobody lives in the lighthouses any more. Somebody still has to clean the glass.", (
            "Twice a month a small boat goes along the coast from the Teeth to Sallow Point with a bucket, a ladder and four hundred cloths. There are "
            "nine lamps to call at. At each of them two people climb the stairs and polish.",
            "The lamps see to themselves: they light at dusk, they report a fault by radio, they change their own bulbs. What they cannot do is wipe "
            "off salt. A month of westerlies leaves a crust on the panes that halves the reach of the beam, and no one has yet built a machine that "
            "does it more cheaply than a cloth.",
            "The crew say that the work is mostly stairs. They have counted them, of course: one thousand seven hundred and four, up, and "
            "the same again in the other direction with a full bucket.",
            "On foggy days they work to the sound of the horn, which at close quarters is less a noise than an event. They talk in the gaps. There are twenty-eight "
            "seconds in each, and after some years one's conversation comes to fit."),
            (("sea", "slate", "Sallow Point, from the boat"), ("clouds", "fog", "Clearing from the west, which gives the crew an hour.")),
            "The work is mostly stairs."),
        Feature("Land", "How to read a hedge", "A hedge is a slow instrument. It records wind, water and neighbours.", (
            "Stand back from it first. If the whole hedge leans, you have the direction of the hard winds, and no weather vane will tell you better. "
            "Hawthorn leans most, holly hardly at all; where the two grow together the top is a row of steps.",
            "Now come near and look for green. Moss on one side means that side stays damp. Ivy wants company and shade. A sudden "
            "run of willow in the middle of a hawthorn hedge is a drain that someone has forgotten.",
            "Then count. In a stretch of thirty paces, each kind of tree or shrub stands, very roughly, for a hundred years. "
            "The rule is a poor one, the experts agree, and they all use it.",
            "Last of all look for the gaps. A hedge grows shut in ten years if it is let. Every gap is there because somebody still goes through it."),
            (("field", "meadow", "Furrows run with the wind; hedges stand across it"), ("hills", "meadow", "Old boundaries show best in a low sun.")),
            "Every gap is there because somebody still goes through it."),
        Plate(("forest", "fog", "b"), "Nine trees deep", "In a fog, distance can be counted. The first trunk is black, the fourth is grey, the ninth is an opinion."),
        Plate(("rain", "night", "c"), "The last bus", "Water on the glass turns each street lamp into a small moon. The driver says that regulars get off by the colours."),
        Plate(("river", "slate", "d"), "A mild flood", "The meadows are meant to do this. They take the river in for a week and give it back slowly, a little cleaner."),
        Notes("Make a fog catcher", "A frame, some netting and a jug. On a good night, enough for the geraniums.", (
            ("What you need", "Shade netting of the finest mesh, doubled; a wooden frame as tall as a door; a length of gutter; a jug."),
            ("Put it up", "Stand the frame across the wind, on a ridge if you have one. Stretch the netting until it hums."),
            ("Hang the gutter", "Under the lower edge, one finger lower at the jug than at the other end. Drops are lazy."),
            ("Keep a record", "Measure what the jug holds at sunrise. Our best night is two litres and one surprised frog."),
            ), ("forest", "meadow", "catcher")),
        Notes("Letters", "Paper, post or pigeon. We print what made us go and look out of the window.", (
            ("The gauge works", "I built your rain gauge on the sixth. It has not rained since. I would like to know whether you take responsibility."),
            ("Four, not three", "There is a fourth word for drizzle in our valley. It cannot be printed but it is very exact."),
            ("A wind by any name", "My grandmother called the September wind the Lodger, because it came with no luggage, ate everything and left without a word."),
            ("Apples", "Row nineteen with cheese: confirmed."),
            ), ("hills", "fog", "letters")),
        Table("The almanac", "Times for the lowland coast in October, in local time. In fog, listen instead.",
              ("Day", "Sunrise", "Sunset", "High water", "Look for"), (
            ("1 Thu", "07:03", "18:42", "03:01", "spider threads"), ("3 Sat", "07:07", "18:38", "05:12", "ink-cap toadstools"), ("5 Mon", "07:10", "18:33", "07:24", "redwings at night"),
            ("7 Wed", "07:14", "18:29", "09:11", "river smoke"), ("9 Fri", "07:17", "18:24", "10:40", "valley fog"), ("11 Sun", "07:20", "18:20", "11:58", "new moon"),
            ("13 Tue", "07:24", "18:16", "12:31", "beech turning"), ("15 Thu", "07:28", "18:11", "13:40", "walnut fall"), ("17 Sat", "07:31", "18:07", "14:44", "geese"),
            ("19 Mon", "07:35", "18:03", "15:51", "first frost, hills"), ("21 Wed", "07:38", "17:59", "17:08", "shooting stars"), ("23 Fri", "07:42", "17:55", "18:40", "starlings massing"),
            ("25 Sun", "07:45", "17:51", "20:20", "clocks go back"), ("27 Tue", "06:49", "16:47", "20:46", "full moon passed"), ("29 Thu", "06:53", "16:43", "22:01", "last oak leaves")))),
    next_issue=("The frost issue", ("frost", "frost", "next"), "Why ice draws ferns, what trees do in the dark, and a village that keeps the sun in its cellar."),
)
